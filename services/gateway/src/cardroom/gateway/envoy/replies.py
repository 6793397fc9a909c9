"""What Envoy says when it answers by itself: a status and an ErrorInfo, like everyone else's refusals."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

DOMAIN: Final = "cardroom"
_DENIED: Final = "response.code_details.startsWith('jwt_authn_access_denied{%s')"


@dataclass(frozen=True, slots=True)
class Reply:
    """One refusal: when it applies (a CEL expression over the response), and what it says."""

    reason: str
    code: grpc.StatusCode
    http_status: int
    message: str
    when: str

    domain: str = DOMAIN

    @property
    def grpc_status(self) -> int:
        """The status as gRPC numbers it."""
        return int(self.code.value[0])

    @property
    def details_header(self) -> str:
        """The value of `grpc-status-details-bin`."""
        packed = any_pb2.Any()
        packed.Pack(error_details_pb2.ErrorInfo(reason=self.reason, domain=DOMAIN))
        status = status_pb2.Status(code=self.grpc_status, message=self.message, details=[packed])
        return base64.b64encode(status.SerializeToString(deterministic=True)).decode().rstrip("=")


_CODE: Final = grpc.StatusCode
# The more special ones first: the first that applies is sent.
_REPLIES: Final = (
    Reply(
        "MALFORMED_MESSAGE",
        _CODE.INVALID_ARGUMENT,
        400,
        # At the end the transcoder's own words: which field, or where the JSON breaks off.
        "the request cannot be read: send one JSON object, and query parameters, with the fields and types that the"
        " protos have; what is wrong with this one: %LOCAL_REPLY_BODY%",
        "response.code_details.contains('grpc_json_transcode_failure')",
    ),
    Reply(
        "MALFORMED_MESSAGE",
        _CODE.INVALID_ARGUMENT,
        400,
        "the request's body is not one whole gRPC message: send 1 byte of flags, 4 of length, and as many more",
        "response.code_details == 'lua_response'",
    ),
    Reply(
        "TOKEN_MISSING",
        _CODE.UNAUTHENTICATED,
        401,
        "this call needs a token: send `authorization: Bearer <token>`",
        _DENIED % "Jwt_is_missing",
    ),
    Reply(
        "TOKEN_EXPIRED",
        _CODE.UNAUTHENTICATED,
        401,
        "the token has expired: refresh it",
        _DENIED % "Jwt_is_expired",
    ),
    Reply(
        "KEYS_UNAVAILABLE",
        _CODE.UNAVAILABLE,
        503,
        "the token keys could not be fetched yet: try again",
        _DENIED % "Jwks_remote_fetch_is_failed",
    ),
    Reply(
        "TOKEN_INVALID",
        _CODE.UNAUTHENTICATED,
        401,
        "the token cannot be verified: sign in again",
        "response.code == 401 || response.code_details.startsWith('jwt_authn_access_denied')",
    ),
    Reply(
        "RATE_LIMITED",
        _CODE.RESOURCE_EXHAUSTED,
        429,
        "too many requests: wait a second and send it again",
        "response.code == 429",
    ),
    Reply(
        "MESSAGE_TOO_LARGE",
        _CODE.RESOURCE_EXHAUSTED,
        413,
        "the request is larger than this edge takes (1 MiB, unless its operator set another limit): send less",
        "response.code == 413",
    ),
    Reply(
        "HEADERS_TOO_LARGE",
        _CODE.RESOURCE_EXHAUSTED,
        431,
        "the request's headers are larger than this edge takes (60 KiB together, 100 of them): send less",
        "response.code == 431",
    ),
    Reply(
        "METHOD_UNKNOWN",
        _CODE.UNIMPLEMENTED,
        404,
        "there is no such method or path here: see the protos for what there is",
        "response.code == 404",
    ),
    Reply(
        "EDGE_TIMEOUT",
        _CODE.DEADLINE_EXCEEDED,
        504,
        "the answer did not come in time; nobody knows yet what became of it: send the same request again",
        "response.code == 504 || response.code == 408",
    ),
    Reply(
        "SERVICE_UNAVAILABLE",
        _CODE.UNAVAILABLE,
        503,
        "no replica of this service can be reached now: send the same request again",
        "response.code == 503 || response.code == 502",
    ),
    Reply(
        "MALFORMED_REQUEST",
        _CODE.INVALID_ARGUMENT,
        400,
        "the request is not valid HTTP: check its path and headers",
        "response.code >= 400 && response.code < 500",
    ),
    Reply(
        "INTERNAL_ERROR",
        _CODE.INTERNAL,
        500,
        "something went wrong at the edge; it is in its logs",
        "response.code >= 500",
    ),
)


def replies() -> tuple[Reply, ...]:
    """Return every refusal, in the order in which they are tried."""
    return _REPLIES
