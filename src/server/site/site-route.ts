/** JSON of `GET /v1/site` on the ops listener: the processes of this server. Source: scale-out.md, Edges. */
import { z } from 'zod';
import { readVersion } from '../../lib/package-version.ts';
import type { EdgeFacts } from '../../edge/sleep-front.ts';
import { readRoute, type AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { FrontFigures, FrontsFigures } from '../../telemetry/front-gauges.ts';
import type { CallService } from '../bootstrap/call-service.ts';
import type { CoreSite, SiteChild } from './core-task.ts';

/** Null: unknown. */
export interface SiteProcessJson {
  readonly name: string;
  readonly kind: 'core' | 'edge' | 'media';
  /**
   * `up`: ready; `starting`, `stopping`, `down`: reported by its supervisor; `away`: the link to the core is cut; `linked`: an edge
   * that does not listen yet.
   */
  readonly state: string;
  readonly pid: number | null;
  readonly release: string | null;
  readonly sleep_sessions: number | null;
  readonly link_delay_ms: number | null;
  readonly restarts: number | null;
  /** Start, ISO 8601. */
  readonly since: string | null;
}

/** Parts of a server that know its processes. */
interface SiteParts {
  readonly site: CoreSite | null;
  readonly deviceListeners: { readonly sleep: { readonly sessionCount: number } };
  readonly calls: CallService | null;
  readonly fronts: { readonly figures: FrontsFigures } | null;
}

export function siteRoute(parts: SiteParts, hasMedia: boolean): AdminRoute {
  return readRoute('/v1/site', z.strictObject({}), async () => describeSite(parts, hasMedia));
}

export type SiteJson = ReturnType<typeof describeSite>;

/** `processes`: the core first. `fronts`: threads of the core that serve the API; empty: its main thread does. */
function describeSite(parts: SiteParts, hasMedia: boolean) {
  const media = hasMedia ? mediaOf(parts) : [];
  const fronts = parts.fronts?.figures.fronts ?? [];
  return { processes: [...siteProcesses(parts), ...media], fronts: fronts.map(frontJson) };
}

/** The core, followed by its edges. */
export function siteProcesses(
  parts: Pick<SiteParts, 'site' | 'deviceListeners'>,
): readonly SiteProcessJson[] {
  return [coreOf(parts), ...edgesOf(parts.site)];
}

const core = 'core';

function coreOf({ site, deviceListeners }: Pick<SiteParts, 'site' | 'deviceListeners'>): SiteProcessJson {
  const child = site?.children().find(({ name }) => name === core) ?? null;
  return {
    name: core,
    kind: 'core',
    state: child?.state ?? 'up',
    pid: process.pid,
    release: readVersion(),
    sleep_sessions: site === null ? deviceListeners.sleep.sessionCount : 0,
    link_delay_ms: null,
    restarts: child?.restarts ?? null,
    since: processStart(),
  };
}

/** Start of this process, ISO 8601. */
export function processStart(): string {
  return new Date(performance.timeOrigin).toISOString();
}

/** Edges of the supervisor, including those that are down, then edges on other machines. */
function edgesOf(site: CoreSite | null): SiteProcessJson[] {
  if (site === null) return [];
  const facts = site.edges();
  const factsOf = ({ name }: SiteChild): EdgeFacts | null =>
    facts.find((edge) => edge.isLocal && edge.name === name) ?? null;
  const local = site.children().filter(({ kind }) => kind === 'edge');
  const elsewhere = facts.filter(({ isLocal }) => !isLocal);
  return [
    ...local.map((child) => edgeJson(child, factsOf(child))),
    ...elsewhere.map((edge) => edgeJson(null, edge)),
  ];
}

function startOf(child: SiteChild | null): string | null {
  const sinceMs = child?.sinceMs ?? null;
  return sinceMs === null ? null : new Date(sinceMs).toISOString();
}

function edgeJson(child: SiteChild | null, facts: EdgeFacts | null): SiteProcessJson {
  const linkState = facts?.state === 'listening' ? 'up' : (facts?.state ?? 'starting');
  return {
    ...linkedJson(child?.name ?? facts?.name ?? '', 'edge', child, linkState),
    pid: child?.pid ?? facts?.pid ?? null,
    release: child?.release ?? facts?.release ?? null,
    sleep_sessions: facts?.sessions ?? null,
    link_delay_ms: facts === null || facts.linkDelayMs === null ? null : Number(facts.linkDelayMs.toFixed(3)),
  };
}

/** A process that serves over a link to the core; `child`: as its supervisor sees it, null: on another machine or unsupervised. */
function linkedJson(
  name: string,
  kind: 'edge' | 'media',
  child: SiteChild | null,
  linkState: string,
): SiteProcessJson {
  const { pid = null, release = null, restarts = null } = child ?? {};
  const state = child === null || child.state === 'up' ? linkState : child.state;
  const none = { sleep_sessions: null, link_delay_ms: null };
  return { name, kind, state, pid, release, ...none, restarts, since: startOf(child) };
}

export type FrontJson = ReturnType<typeof frontJson>;

/** State `stuck`: its event loop is blocked; `down`: it has ended and will be restarted. */
function frontJson({ waitingCalls, openCalls, utilization, sinceMs, ...front }: FrontFigures) {
  return {
    ...front,
    // For the core.
    waiting_calls: waitingCalls,
    // Without an answer of the core.
    open_calls: openCalls,
    utilization: Number(utilization.toFixed(3)),
    // ISO 8601: its start; while it is down, its end.
    since: new Date(sinceMs).toISOString(),
  };
}

/** Sorted by number, started here or elsewhere. */
function mediaOf({ calls, site }: SiteParts): SiteProcessJson[] {
  const connections = calls?.mediaProcesses.connections ?? [];
  return connections.map(({ process: number, address }) => {
    const name = `media-${number}`;
    const child = site?.children().find((one) => one.name === name) ?? null;
    return linkedJson(name, 'media', child, address === null ? 'down' : 'up');
  });
}
