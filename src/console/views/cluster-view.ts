/** The nodes of the cluster, each with its state and sessions. */
import type { ClusterJson, MemberJson } from '../../server/membership/cluster-json.ts';
import { el } from '../dom.ts';
import { badge, dataTable, poll, Trouble, troubleLine, type Page, type View } from '../page.ts';
import { formatCount, formatSpan } from '../text.ts';

const everyMs = 5000;

export function openCluster(page: Page): View {
  const trouble = new Trouble();
  const list = el('div', {}, el('p', {}, 'Looking …'));
  const look = async (): Promise<void> => {
    const cluster = await page.client.read<ClusterJson>('/v1/cluster');
    list.replaceChildren(...staleNotice(cluster), membersTable(cluster.members));
  };
  const stop = poll(everyMs, look, trouble.show);
  return { title: 'Cluster', content: el('div', {}, trouble.element, list), close: stop };
}

function staleNotice({ stale, age_ms: ageMs }: ClusterJson): HTMLElement[] {
  if (!stale) return [];
  const asOf =
    ageMs === null
      ? 'Nothing is known of other members'
      : `Other members are shown as of ${formatSpan(ageMs)} ago`;
  return [troubleLine(`${asOf}: NATS does not answer this node.`)];
}

const columns = [
  { name: 'Member' },
  { name: 'State' },
  { name: 'Last sign of life', isWide: true },
  { name: 'Sleeping', isNumber: true },
  { name: 'Online', isNumber: true },
  { name: 'Up for', isWide: true },
  { name: 'Outbox', isNumber: true, isWide: true },
  { name: 'Event lag', isNumber: true, isWide: true },
  { name: 'Version', isWide: true },
];

function membersTable(members: readonly MemberJson[]): HTMLElement {
  const rows = members.map((member) => [
    el('bdi', {}, member.node),
    badge(member.state, member.state === 'up' ? 'good' : member.state === 'draining' ? 'warn' : 'bad'),
    `${formatSpan(member.lease_age_ms)} ago`,
    formatCount(member.sleep_sessions),
    formatCount(member.signal_sessions),
    formatSpan(Date.now() - member.started_at_ms),
    formatCount(member.outbox_length),
    formatCount(member.event_lag),
    member.version,
  ]);
  return dataTable('Members', columns, rows);
}
