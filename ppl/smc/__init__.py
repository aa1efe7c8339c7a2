"""Sequential Monte Carlo: posteriors by way of tempered ones, with the evidence, and models that only simulate."""

from ppl.samplers.tempering.weights import systematic_resampling as systematic_resampling
from ppl.smc.kernels import HMC as HMC
from ppl.smc.kernels import IMH as IMH
from ppl.smc.kernels import MH as MH
from ppl.smc.kernels import SMC_KERNEL as SMC_KERNEL
from ppl.smc.sampling import sample_smc as sample_smc
