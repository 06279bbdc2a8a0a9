"""The promises that every policy, click model and world must keep, yours included, and the checks of them."""

from toplist.checks.contract import check_part, check_policy, check_users, check_world, contract
from toplist.checks.promise import CheckFailed

__all__ = ["CheckFailed", "check_part", "check_policy", "check_users", "check_world", "contract"]
