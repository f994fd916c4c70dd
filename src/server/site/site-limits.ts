/**
 * Limits of a site: its supervisor, its core and the edges of this machine.
 * Source: scale-out.md, Edges; this file chooses the rest.
 */
/** Maximum wait of a restarted core for the edges before it opens the API. */
export const edgesBackMsMax = 1000;
/** Sessions that no edge resumes within this time end as `node_lost`. */
export const edgesBringMsMax = 5000;
/** From the start of a core, which may import a registry, until it is ready. */
export const coreStartMsMax = 600_000;
/** From the start of an edge until its hello, and from its task until it connects to the core. */
export const edgeStartMsMax = 20_000;
/** From the order to end, after its core has ended, until an edge is killed. */
export const edgeStopMsMax = 2000;
/** From a core being ready until its spare starts: edges and backends reconnect meanwhile. */
export const spareCoreDelayMs = 3000;
/** From the death or failed start of a spare core until the next start. */
export const spareCoreRetryMs = 60_000;
/** Minimum delay before the restart of a core or edge that died soon after its start; short, since backends wait. */
export const siteRestartMsMin = 100;
export const siteRestartMsMax = 2000;
/** From the start of a new release until it has loaded and checked its settings. */
export const successorLoadMsMax = 60_000;
/** From the order to listen until the successor queues requests. */
export const coreListenMsMax = 5000;
/** A core that hands over has answered, committed and closed within this time, or is killed. */
export const handOverMsMax = 30_000;
/** The HTTP library closes idle connections within this time, so that none from before `leave` remains. */
export const keptConnectionMs = 12_000;
/**
 * Time for the request of an accepted connection before the core hands over: a TLS handshake with a distant or busy backend takes a
 * while. The next core queues new requests meanwhile.
 */
export const lastRequestMs = 1000;
