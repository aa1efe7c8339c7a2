"""Families of μ + σZ, where the law of Z depends on neither."""

LOCATION_AND_SCALE = {  # by the names of μ and σ
    "Normal": ("mu", "sigma"),
    "StudentT": ("mu", "sigma"),
    "SkewStudentT": ("mu", "sigma"),
    "Laplace": ("mu", "b"),
    "Logistic": ("mu", "s"),
    "Cauchy": ("alpha", "beta"),
    "Gumbel": ("mu", "beta"),
    "Moyal": ("mu", "sigma"),
    "SkewNormal": ("mu", "sigma"),
}
LOCATION = {**{family: names[0] for family, names in LOCATION_AND_SCALE.items()}, "MvNormal": "mu", "MvStudentT": "mu"}
