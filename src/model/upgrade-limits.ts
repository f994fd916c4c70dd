/** Limits of an upgrade without a closed socket. Source: docs/adr/0027-upgrade-without-a-closed-socket.md. */

/** Accepted while the sleep port is handed over to the next release, and kept for it; beyond it they are closed. */
export const heldConnectionsMax = 20_000;
/** Requests that come meanwhile, and those that the next release answers through the old one; beyond it they are answered 503. */
export const relayedRequestsMax = 10_000;
/** Logins under way have so long when the sleep port is handed over. */
export const handOverLoginMsMax = 2000;
/** A worker that hands over answers what other processes have asked for so long at most. */
export const peerLeaveMsMax = 5000;
/** A new release has so long to load, to check its settings and to say so. */
export const successorLoadMsMax = 60_000;
/** And so long from the state of the old one to its first request; then the old one goes on. */
export const successorStartMsMax = 30_000;
/** Connections of the API live on in the old release for so long at most. */
export const relayMsMax = 60_000;
/** `reveille upgrade` waits so long for a release that serves, of several processes without a word of the coordinator. */
export const upgradeCommandMsMax = 180_000;
/** Items of the state in one message. */
export const handOverSlice = 500;
