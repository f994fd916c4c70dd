/**
 * Limits of a site: its supervisor, its core and the edges of this machine.
 * Source: scale-out.md, Edges; the rest is chosen here.
 */
/** A core that succeeds one that died waits so long for the edges before callers are admitted. */
export const edgesBackMsMax = 1000;
/** A session that no edge brings by then ends as `node_lost`. */
export const edgesBringMsMax = 5000;
/** From the start of a core, which may import a registry, until it serves. */
export const coreStartMsMax = 600_000;
/** From the start of an edge until it says hello, and from its task until it connects to the core. */
export const edgeStartMsMax = 20_000;
/** From the order to end, when its core is gone, until an edge is killed. */
export const edgeStopMsMax = 2000;
/** From the time when a core serves until its spare is started: edges and callers come back meanwhile. */
export const spareCoreDelayMs = 3000;
/** From the death of a spare core, or a start that failed, until the next start. */
export const spareCoreRetryMs = 60_000;
/** Between a death of a core or an edge that died soon after its start and its next start: callers wait for it. */
export const siteRestartMsMin = 100;
export const siteRestartMsMax = 2000;
/** From the start of a new release until it has loaded and checked its settings. */
export const successorLoadMsMax = 60_000;
/** From the order to listen until the successor holds requests. */
export const coreListenMsMax = 5000;
/** A core that hands over answers, commits and closes within this, or is killed. */
export const handOverMsMax = 30_000;
/** The HTTP library closes an idle connection within this; by then no connection is left that was open before a core began to leave. */
export const keptConnectionMs = 12_000;
/**
 * A connection that a core has accepted has so long for its request before the core hands over: a handshake of TLS to a distant
 * caller, or a busy one. The next core holds newcomers meanwhile.
 */
export const lastRequestMs = 1000;
