/** The nodes of the cluster, each with its state and sessions. */
import type { ClusterJson, MemberJson } from '../../server/membership/cluster-json.ts';
import { el } from '../dom.ts';
import { dataTable, polledView } from '../lists.ts';
import { badge, troubleLine, type Page, type View } from '../page.ts';
import { formatCount, formatSpan } from '../text.ts';

const everyMs = 5000;

export function openCluster(page: Page): View {
  const read = (): Promise<ClusterJson> => page.client.read('/v1/cluster');
  return polledView('Cluster', everyMs, read, (cluster) => [
    ...staleNotice(cluster),
    membersTable(cluster.members),
  ]);
}

function staleNotice({ stale, age_ms: ageMs }: ClusterJson): HTMLElement[] {
  if (!stale) return [];
  const asOf =
    ageMs === null
      ? 'Nothing is known of other members'
      : `Other members are shown as of ${formatSpan(ageMs)} ago`;
  return [troubleLine(`${asOf}: NATS does not answer this node.`)];
}

function membersTable(members: readonly MemberJson[]): HTMLElement {
  return dataTable('Members', members, [
    { name: 'Member', cell: ({ node }) => el('bdi', {}, node) },
    { name: 'State', cell: stateOf },
    { name: 'Last sign of life', cell: (member) => `${formatSpan(member.lease_age_ms)} ago`, isWide: true },
    { name: 'Sleeping', cell: (member) => formatCount(member.sleep_sessions), isNumber: true },
    { name: 'Online', cell: (member) => formatCount(member.signal_sessions), isNumber: true },
    { name: 'Up for', cell: (member) => formatSpan(Date.now() - member.started_at_ms), isWide: true },
    { name: 'Outbox', cell: (member) => formatCount(member.outbox_length), isNumber: true, isWide: true },
    { name: 'Event lag', cell: (member) => formatCount(member.event_lag), isNumber: true, isWide: true },
    { name: 'Version', cell: ({ version }) => version, isWide: true },
  ]);
}

function stateOf({ state }: MemberJson): HTMLElement {
  return badge(state, state === 'up' ? 'good' : state === 'draining' ? 'warn' : 'bad');
}
