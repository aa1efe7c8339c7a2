"""Functions and operations without a row in the table of ops, each with the reason and the tests that it has."""

import ppl.nn.layers_convolution
import ppl.ode  # noqa: F401  (both declare operations)


def because(reason: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, reason)


LOOPS = "takes a function or a body: tests/test_loops.py"
DERIVATIVES = "takes a cost and its variables: tests/test_derivatives.py"
RANDOM = "a draw has a law, not a value: tests/test_random_streams.py"
SIGNS = "vectors are right up to a sign or a phase: test_decompositions_multiply_back in tests/test_ops.py"
LEAVES = "a leaf, which every row has: tests/test_graph.py"

WITHOUT_A_ROW = {
    **because("the number itself, computed once: tests/test_held_numbers.py", "held"),
    **because("takes the body of a right-hand side: tests/ode/test_ode_solvers.py", "ode_solution"),
    **because(
        LOOPS, "scan", "map", "reduce", "foldl", "foldr", "cond", "ifelse", "while_loop", "fori_loop", "scan_op", "cond_op",
        "while_op", "vectorize", "vectorize_graph", "vectorized", "apply_along_axis", "unfold", "linear_recurrence",
        "draw_until",
    ),
    **because(
        DERIVATIVES, "grad", "value_and_grad", "jacobian", "hessian", "hessian_vector_product", "jvp", "vjp", "Rop", "Lop",
        "value_and_grad_op", "jacobian_op", "push_forward", "pull_back", "stop_gradient", "disconnected_grad", "zero_grad",
        "consider_constant", "at_optimum", "twice", "grad_scale", "grad_clip", "verify_grad",
    ),
    **because(
        RANDOM, "random_binomial", "random_bits", "random_exponential", "random_hypergeometric", "random_loggamma",
        "random_multinomial", "random_negative_binomial", "random_normal", "random_poisson", "random_randint", "random_truncated_normal", "random_uniform", "random_von_mises",
        "random_polya_gamma", "random_gumbel", "random_laplace", "random_two_sided", "random_logistic", "random_choice", "random_permutation", "key_fold_in", "key_split", "random_of_words", "host_draw", "draw",
    ),
    **because(SIGNS, "eigh", "eig", "eigvals", "qr", "schur"),
    **because("takes the index of another call: tests/test_indexing.py", "set", "inc", "set_subtensor", "inc_subtensor"),
    **because("makes an input or a variable: tests/test_graph.py", "tensor", "shared", "make_variable", "variable_of",
              "placeholder_like"),
    **because("about the graph, not its values: tests/test_graph.py", "name_of", "set_label", "describe", "clone"),
    **because("about the graph, not its values: tests/test_symjax_programs.py", "variables_of"),
    **because("evaluates: tests/test_compile.py", "eval", "get"),
    **because("looks at values or checks them: tests/test_effects.py", "print_value", "check", "assert_op", "assert_"),
    **because("promises a fact to rules: tests/test_rewrites.py", "assume"),
    **because("has a size by value: tests/test_sizes_by_value.py", "unique_op", "nonzero_op", "bincount_op",
              "count_distinct", "mask_of",
              "extract", "union1d", "intersect1d", "setdiff1d", "setxor1d"),
    **because("sums weights that share parts, by a rule of its own: tests/test_multivariate_oracle.py", "log_sum_to"),
    **because("a distribution function, against integrals with 40 digits: tests/test_tails.py",
              "log_skew_ndtr", "log_rice_cdf", "log_rice_ccdf", "log_von_mises_cdf"),
    **because("takes a function whose root it seeks: tests/test_quantiles.py", "first_root", "carried_root"),
    **because("the density of a distribution, by an integral: tests/test_distributions_oracle.py",
              "log_polya_gamma", "log_polya_gamma_cdf", "log_polya_gamma_ccdf"),
    **because("layers of networks: tests/nn/test_nn_layers.py", "convolve_channels", "convolve_channels_transposed", "pool_channels"),
    **because(LEAVES, "bound", "constant", "input", "variable"),
}  # fmt: skip
