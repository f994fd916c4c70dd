/** The nodes of the cluster, or the processes and fronts of a single server, with state and load. */
import type { ClusterJson, MemberJson } from '../../server/membership/cluster-json.ts';
import type { FrontJson, SiteJson, SiteProcessJson } from '../../server/site/site-route.ts';
import { RequestError } from '../client.ts';
import { el } from '../dom.ts';
import { dataTable, polledView, type Column } from '../lists.ts';
import { badge, section, troubleLine, type Page, type View } from '../page.ts';
import { formatCount, formatSpan } from '../text.ts';

const everyMs = 5000;

export function openCluster(page: Page): View {
  const read = (): Promise<[ClusterJson, SiteJson | null]> =>
    Promise.all([page.client.read<ClusterJson>('/v1/cluster'), readSite(page)]);
  return polledView('Cluster', everyMs, read, ([cluster, site]) => [
    ...staleNotice(cluster),
    membersTable(cluster.members),
    ...(site === null ? [] : siteSections(site)),
  ]);
}

/** Null for a node of a cluster. */
export async function readSite({ client }: Page): Promise<SiteJson | null> {
  try {
    return await client.read<SiteJson>('/v1/site');
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return null;
    throw error;
  }
}

export function siteSections({ processes, fronts }: SiteJson): HTMLElement[] {
  const shown = [section('Processes', {}, processesTable(processes))];
  return fronts.length === 0 ? shown : [...shown, section('Fronts of the API', {}, frontsTable(fronts))];
}

function processesTable(processes: readonly SiteProcessJson[]): HTMLElement {
  return dataTable('Processes', 'None.', processes, [
    { name: 'Process', cell: ({ name }) => el('bdi', {}, name) },
    { name: 'State', cell: stateOf },
    { name: 'Pid', cell: ({ pid }) => pid ?? '', isNumber: true, isWide: true },
    counted('Sleep sessions', (one) => one.sleep_sessions),
    counted('Restarts', ({ restarts }) => restarts),
    { name: 'Version', cell: ({ release }) => release ?? '', isWide: true },
    {
      name: 'Uptime',
      cell: ({ since }) => (since === null ? '' : formatSpan(Date.now() - Date.parse(since))),
      isWide: true,
    },
  ]);
}

function frontsTable(fronts: readonly FrontJson[]): HTMLElement {
  return dataTable('Fronts of the API', 'None.', fronts, [
    { name: 'Front', cell: ({ name }) => name },
    { name: 'State', cell: stateOf },
    counted('Connections', ({ connections }) => connections),
    counted('Waiting calls', (front) => front.waiting_calls, true),
    counted('Open calls', (front) => front.open_calls, true),
    { name: 'Utilization', cell: ({ utilization }) => `${Math.round(utilization * 100)} %`, isNumber: true },
    counted('Restarts', ({ restarts }) => restarts),
    {
      name: 'In this state for',
      cell: ({ since }) => formatSpan(Date.now() - Date.parse(since)),
      isWide: true,
    },
  ]);
}

function counted<Item>(name: string, countOf: (item: Item) => number | null, isWide = false): Column<Item> {
  const cell = (item: Item): string => {
    const count = countOf(item);
    return count === null ? '' : formatCount(count);
  };
  return { name, cell, isNumber: true, isWide };
}

function staleNotice({ stale, age_ms: ageMs }: ClusterJson): HTMLElement[] {
  if (!stale) return [];
  const asOf =
    ageMs === null ? 'Other members are unknown' : `The state of other members is ${formatSpan(ageMs)} old`;
  return [troubleLine(`${asOf}: NATS does not answer this node.`)];
}

function membersTable(members: readonly MemberJson[]): HTMLElement {
  return dataTable('Members', 'None.', members, [
    { name: 'Member', cell: ({ node }) => el('bdi', {}, node) },
    { name: 'State', cell: stateOf },
    { name: 'Last seen', cell: (member) => `${formatSpan(member.lease_age_ms)} ago`, isWide: true },
    counted('Sleep sessions', (member) => member.sleep_sessions),
    counted('Signal sessions', (member) => member.signal_sessions),
    { name: 'Uptime', cell: (member) => formatSpan(Date.now() - member.started_at_ms), isWide: true },
    counted('Outbox, events', (member) => member.outbox_length, true),
    counted('Event lag, events', (member) => member.event_lag, true),
    { name: 'Version', cell: ({ version }) => version, isWide: true },
  ]);
}

function stateOf({ state }: { readonly state: string }): HTMLElement {
  return badge(state, state === 'up' ? 'good' : state === 'draining' ? 'warn' : 'bad');
}
