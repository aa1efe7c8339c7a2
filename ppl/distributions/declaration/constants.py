"""Numbers that densities share."""

import math

LOG_2 = math.log(2.0)
LOG_PI = math.log(math.pi)
LOG_2PI = math.log(2.0 * math.pi)
SQRT_2 = math.sqrt(2.0)
EULER_GAMMA = 0.57721566490153286061
