"""Many fits: one model for each of many items, on the engine that a user has."""

from ppl.many.fits import FitError as FitError
from ppl.many.fits import Fits as Fits
from ppl.many.map_fits import map_fits as map_fits
from ppl.many.sample_many import sample_many as sample_many
