"""Models that can be certified, each as a vote: :func:`voter_for` finds the kind."""

from holdfast.certificates.voting.base import Voter as Voter
from holdfast.certificates.voting.linear import LinearVoter as LinearVoter
from holdfast.certificates.voting.neighbors import NeighborVoter as NeighborVoter
from holdfast.certificates.voting.registry import neighbor_voter_for as neighbor_voter_for
from holdfast.certificates.voting.registry import voter_for as voter_for
from holdfast.certificates.voting.scikit_learn import DistanceVoter as DistanceVoter
