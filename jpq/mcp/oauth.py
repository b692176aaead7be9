"""OAuth: lets the person say, in their browser, that we may use a server in their name.

The code flow of OAuth 2.1 with PKCE, as the specification's pages on authorization want it:
clients are known by their metadata document, beforehand, or register themselves.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
from typing import Dict, List, Mapping, Optional, Protocol
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from jpq.mcp.failure import McpUnauthorized
from jpq.mcp.http_endpoint import Authorizer
from jpq.mcp.http_fetch import Fetcher
from jpq.mcp.oauth_discovery import Authority, challenge_of, find_authority
from jpq.mcp.oauth_tokens import Grant, TokenStore
from jpq.mcp.protocol import Json, encode, text_of
from jpq.mcp.transport import Log
from jpq.named import NamedTuple

_MAX_LOGINS = 3
_FORM = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
_JSON = {"Accept": "application/json", "Content-Type": "application/json"}


class Visitor(Protocol):
    """Takes the person to a page and back."""

    redirect_uri: str

    def visit(self, url: str) -> str:
        """The address that the page at ``url`` sent the person to in the end, which begins
        with ``redirect_uri``. Blocks. Raises McpUnauthorized where they do not come back."""


class ClientIdentity(NamedTuple):
    """Who we are to an authority: a client it knows beforehand, or the address of a document
    about us; by default we register."""

    client_id: str = ""
    client_secret: str = ""
    document_url: str = ""


REGISTERS = ClientIdentity()


class OAuth(Authorizer):
    """Authorizes requests to one server. Any thread; one login at a time.

    Without a ``visitor`` nobody can be asked: what was granted before is used and renewed.
    ``modern`` is False for a server held to an older revision, whose rules ask for less.
    """

    def __init__(
        self,
        url: str,
        store: TokenStore,
        fetcher: Fetcher,
        visitor: Optional[Visitor] = None,
        *,
        identity: ClientIdentity = REGISTERS,
        modern: bool = True,
        where: str = "",
        log: Log = lambda line: None,
    ) -> None:
        self._url = url
        self._store = store
        self._fetcher = fetcher
        self._visitor = visitor
        self._identity = identity
        self._modern = modern
        self._where = where or url
        self._log = log
        self._lock = threading.Lock()  # held during a login
        self._grant = store.get(url)
        self._clients: Dict[str, Json] = {}  # by issuer
        self._logins = 0

    def headers(self) -> Mapping[str, str]:
        """The token, if there is one."""
        grant = self._grant
        return {"Authorization": f"Bearer {grant.access_token}"} if grant is not None else {}

    def refused(self, status: int, challenge: str) -> bool:
        """Renew the token or log in; True where the request may pass now."""
        asked = challenge_of(challenge)
        if status == 403 and asked.get("error") != "insufficient_scope":
            return False
        refused_grant = self._grant
        with self._lock:
            if self._grant is not refused_grant:
                return True  # another request has just seen to it
            try:
                if status == 401 and self._renewed():
                    return True
                self._log_in(asked)
            except McpUnauthorized as error:
                error.where = error.where or self._where
                raise
        return True

    def close(self) -> None:
        """Close the connections to the authorization server."""
        self._fetcher.close()

    def _log_in(self, asked: Dict[str, str]) -> None:
        if self._visitor is None:
            raise McpUnauthorized(
                "The server requires a login.",
                hint="Log in once: jpq mcp login NAME",
            )
        self._logins += 1
        if self._logins > _MAX_LOGINS:
            raise McpUnauthorized(f"The server still refuses access after {_MAX_LOGINS} logins.")
        authority = find_authority(self._url, asked, self._fetcher)
        if authority.proven and "S256" not in authority.offers("code_challenge_methods_supported"):
            raise McpUnauthorized(
                f"The authorization server {authority.issuer} does not support PKCE (S256)."
            )
        scopes = self._scopes(asked, authority)
        client = self._client(authority, scopes, self._visitor)
        form = self._code(authority, client, scopes, self._visitor)
        self._take(self._tokens(authority, client, form), authority, client, scopes)

    def _scopes(self, asked: Dict[str, str], authority: Authority) -> List[str]:
        """What to ask for: what the server wants now, and what was granted before it."""
        wanted = asked["scope"].split() if asked.get("scope") else authority.scopes
        if asked.get("error") == "insufficient_scope" and self._grant is not None:
            wanted = [*self._grant.scopes, *wanted]
        offline = "offline_access" in authority.offers("scopes_supported")
        if wanted and offline and self._modern:
            wanted = [*wanted, "offline_access"]
        return list(dict.fromkeys(wanted))

    def _client(self, authority: Authority, scopes: List[str], visitor: Visitor) -> Json:
        identity = self._identity
        if identity.client_id:
            return {"client_id": identity.client_id, "client_secret": identity.client_secret}
        if authority.issuer in self._clients:
            return self._clients[authority.issuer]
        by_document = authority.metadata.get("client_id_metadata_document_supported")
        if by_document and identity.document_url:
            client: Json = {"client_id": identity.document_url}
        else:
            client = self._registered(authority, scopes, visitor)
        self._clients[authority.issuer] = client
        return client

    def _registered(self, authority: Authority, scopes: List[str], visitor: Visitor) -> Json:
        url = authority.endpoint("registration_endpoint")
        if not url:
            raise McpUnauthorized(
                f"{authority.issuer} takes no clients that it does not know.",
                hint="Register jpq there by hand and set the server's client_id.",
            )
        methods = _methods(authority)
        ours = ("none", "client_secret_basic", "client_secret_post")
        method = next((each for each in ours if each in methods), methods[0])
        about: Json = {
            "client_name": "jpq",
            "redirect_uris": [visitor.redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            "application_type": "native",
        }
        if scopes:
            about["scope"] = " ".join(scopes)
        reply = self._fetcher.post(url, _JSON, encode(about))
        client = reply.json
        if client is None or not text_of(client.get("client_id")):
            raise McpUnauthorized(f"{authority.issuer} did not register jpq: HTTP {reply.status}.")
        return {"token_endpoint_auth_method": method, **client}

    def _code(
        self, authority: Authority, client: Json, scopes: List[str], visitor: Visitor
    ) -> Dict[str, str]:
        """The form that turns the person's consent into tokens."""
        verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
        digest = hashlib.sha256(verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": client["client_id"],
            "redirect_uri": visitor.redirect_uri,
            "state": state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "resource": authority.resource,
        }
        if scopes:
            query["scope"] = " ".join(scopes)
        if "offline_access" in scopes:
            query["prompt"] = "consent"
        page = authority.endpoint("authorization_endpoint")
        back = visitor.visit(page + ("&" if "?" in page else "?") + urlencode(query))
        answer = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
        _check_answer(answer, state, authority)
        return {
            "grant_type": "authorization_code",
            "code": answer["code"],
            "redirect_uri": visitor.redirect_uri,
            "code_verifier": verifier,
            "resource": authority.resource,
        }

    def _tokens(self, authority: Authority, client: Json, form: Dict[str, str]) -> Json:
        url = authority.endpoint("token_endpoint")
        known = client.get("token_endpoint_auth_method")
        methods = _methods(authority)
        both = ("client_secret_basic", "client_secret_post")
        method = known or next((each for each in both if each in methods), both[0])
        return self._granted(url, {**client, "token_endpoint_auth_method": method}, form)

    def _granted(self, url: str, client: Json, form: Dict[str, str]) -> Json:
        id, secret = text_of(client.get("client_id")), text_of(client.get("client_secret"))
        headers = dict(_FORM)
        if secret and client.get("token_endpoint_auth_method") == "client_secret_basic":
            pair = f"{quote(id, safe='')}:{quote(secret, safe='')}".encode()
            headers["Authorization"] = "Basic " + base64.b64encode(pair).decode()
        else:
            form = {**form, "client_id": id, **({"client_secret": secret} if secret else {})}
        reply = self._fetcher.post(url, headers, urlencode(form).encode())
        told = reply.json
        if told is None or not text_of(told.get("access_token")):
            raise McpUnauthorized(f"The authorization server gave no token: HTTP {reply.status}.")
        return told

    def _take(self, told: Json, authority: Authority, client: Json, scopes: List[str]) -> None:
        granted = text_of(told.get("scope")).split()
        self._keep(
            Grant(
                issuer=authority.issuer,
                token_endpoint=authority.endpoint("token_endpoint"),
                resource=authority.resource,
                client=client,
                access_token=told["access_token"],
                refresh_token=text_of(told.get("refresh_token")),
                scopes=granted or scopes,
            )
        )

    def _renewed(self) -> bool:
        """Whether the token could be renewed without the person."""
        grant = self._grant
        if grant is None or not grant.refresh_token:
            return False
        form = {
            "grant_type": "refresh_token",
            "refresh_token": grant.refresh_token,
            "resource": grant.resource,
        }
        # Not again with this one, whatever comes of it.
        self._grant = grant._replace(refresh_token="")
        try:
            told = self._granted(grant.token_endpoint, grant.client, form)
        except McpUnauthorized as error:
            self._log(f"the token could not be renewed: {error.message}")
            return False
        new = text_of(told.get("refresh_token")) or grant.refresh_token
        self._keep(grant._replace(access_token=told["access_token"], refresh_token=new))
        return True

    def _keep(self, grant: Grant) -> None:
        self._grant = grant
        self._store.set(self._url, grant)


def _check_answer(answer: Dict[str, str], state: str, authority: Authority) -> None:
    """Raises McpUnauthorized unless the answer is to our question and of the one we asked."""
    if not secrets.compare_digest(answer.get("state", "").encode(), state.encode()):
        raise McpUnauthorized("The reply to the login belongs to another login.")
    issuer = answer.get("iss")
    if issuer is None and authority.metadata.get("authorization_response_iss_parameter_supported"):
        raise McpUnauthorized("The reply to the login does not say who it is from.")
    if issuer is not None and issuer != authority.issuer:
        raise McpUnauthorized(f"The reply to the login is from {issuer}.")
    if "code" not in answer:
        said = answer.get("error_description") or answer.get("error") or "no code"
        raise McpUnauthorized(f"The login was refused: {said}.")


def _methods(authority: Authority) -> List[str]:
    offered = authority.offers("token_endpoint_auth_methods_supported")
    return offered or ["client_secret_basic"]
