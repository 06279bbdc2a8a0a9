"""All attacks, by those without a key, with one of the scope serve, and with one of the scope admin."""

from .admin_key import ADMIN_KEY
from .serve_key import SERVE_KEY
from .strangers import STRANGERS

ATTACKS = [*STRANGERS, *SERVE_KEY, *ADMIN_KEY]
