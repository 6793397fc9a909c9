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


def replies(request_bytes_max: int) -> list[Reply]:
    """Return every refusal, the more special ones first; the first that applies is sent."""
    status = grpc.StatusCode
    return [
        Reply(
            "MALFORMED_MESSAGE",
            status.INVALID_ARGUMENT,
            400,
            # The transcoder's own words: which field, or where the JSON breaks off.
            "%LOCAL_REPLY_BODY%",
            "response.code_details.contains('grpc_json_transcode_failure')",
        ),
        Reply(
            "TOKEN_MISSING",
            status.UNAUTHENTICATED,
            401,
            "this call needs a token: send `authorization: Bearer <token>`",
            _DENIED % "Jwt_is_missing",
        ),
        Reply(
            "TOKEN_EXPIRED",
            status.UNAUTHENTICATED,
            401,
            "the token has expired: refresh it",
            _DENIED % "Jwt_is_expired",
        ),
        Reply(
            "KEYS_UNAVAILABLE",
            status.UNAVAILABLE,
            503,
            "the token keys could not be fetched yet: try again",
            _DENIED % "Jwks_remote_fetch_is_failed",
        ),
        Reply(
            "TOKEN_INVALID",
            status.UNAUTHENTICATED,
            401,
            "the token cannot be verified: sign in again",
            "response.code == 401 || response.code_details.startsWith('jwt_authn_access_denied')",
        ),
        Reply(
            "RATE_LIMITED",
            status.RESOURCE_EXHAUSTED,
            429,
            "too many requests: wait a second and send it again",
            "response.code == 429",
        ),
        Reply(
            "MESSAGE_TOO_LARGE",
            status.RESOURCE_EXHAUSTED,
            413,
            f"the request is larger than {request_bytes_max} bytes: send less",
            "response.code == 413",
        ),
        Reply(
            "METHOD_UNKNOWN",
            status.UNIMPLEMENTED,
            404,
            "there is no such method or path here: see the protos for what there is",
            "response.code == 404",
        ),
        Reply(
            "EDGE_TIMEOUT",
            status.DEADLINE_EXCEEDED,
            504,
            "the answer did not come in time; it is safe to send a request with a request id again",
            "response.code == 504 || response.code == 408",
        ),
        Reply(
            "SERVICE_UNAVAILABLE",
            status.UNAVAILABLE,
            503,
            "no replica of this service can be reached now: send the request again",
            "response.code == 503 || response.code == 502",
        ),
    ]
