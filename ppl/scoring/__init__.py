"""Tools that judge models and results: evidence from draws, calibration by simulation, sensitivity to the prior."""

from ppl.scoring.bridge_sampling import bridge as bridge
from ppl.scoring.calibration import Calibration as Calibration
from ppl.scoring.calibration import sbc as sbc
from ppl.scoring.kfold import KFold as KFold
from ppl.scoring.kfold import kfold as kfold
from ppl.scoring.leaving_out import loo_wrapper as loo_wrapper
from ppl.scoring.power_scaling import sensitivity as sensitivity
