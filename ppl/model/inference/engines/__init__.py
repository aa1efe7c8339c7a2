"""Other packages' NUTS, run on the same compiled log-density when they are installed."""

from ppl.model.inference.engines.blackjax import sample_blackjax as sample_blackjax
from ppl.model.inference.engines.numpyro import sample_numpyro as sample_numpyro
from ppl.model.inference.engines.nutpie import sample_nutpie as sample_nutpie

ENGINES = {"nutpie": sample_nutpie, "numpyro": sample_numpyro, "blackjax": sample_blackjax}
