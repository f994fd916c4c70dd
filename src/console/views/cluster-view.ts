/** The members of the cluster: processes of one machine, or nodes, each with its state and sessions. */
import type { ClusterJson, MemberJson } from '../../server/membership/cluster-json.ts';
import { actionButton } from '../actions.ts';
import { el } from '../dom.ts';
import { badge, dataTable, poll, Trouble, troubleLine, type Page, type View } from '../page.ts';
import { formatCount, formatSpan } from '../text.ts';

const everyMs = 5000;

export function openCluster(page: Page): View {
  const trouble = new Trouble();
  const list = el('div', {}, el('p', {}, 'Looking …'));
  const actions = el('p', { class: 'buttons' });
  const look = async (): Promise<void> => {
    const cluster = await page.client.read<ClusterJson>('/v1/cluster');
    const { members } = cluster;
    list.replaceChildren(...staleNotice(cluster), membersTable(members));
    const hasWorkers = members.some(({ role }) => role === 'worker');
    if (hasWorkers && actions.childElementCount === 0) actions.append(...restart(page));
  };
  const stop = poll(everyMs, look, trouble.show);
  return { title: 'Cluster', content: el('div', {}, trouble.element, actions, list), close: stop };
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
  { name: 'Restarts', isNumber: true, isWide: true },
  { name: 'Outbox', isNumber: true, isWide: true },
  { name: 'Event lag', isNumber: true, isWide: true },
  { name: 'Version', isWide: true },
];

function membersTable(members: readonly MemberJson[]): HTMLElement {
  const rows = members.map((member) => [
    el('bdi', {}, nameOf(member)),
    badge(member.state, member.state === 'up' ? 'good' : member.state === 'draining' ? 'warn' : 'bad'),
    member.lease_age_ms === undefined ? '–' : `${formatSpan(member.lease_age_ms)} ago`,
    countOf(member.sleep_sessions),
    countOf(member.signal_sessions),
    member.started_at_ms === undefined ? '–' : formatSpan(Date.now() - member.started_at_ms),
    countOf(member.restarts),
    countOf(member.outbox_length),
    countOf(member.event_lag),
    member.version ?? '–',
  ]);
  return dataTable('Members', columns, rows);
}

function nameOf({ node, process, role }: MemberJson): string {
  const place = role === undefined ? '' : `, ${role} ${process}`;
  return `${node ?? 'not known'}${place}`;
}

function countOf(value: number | undefined): string {
  return value === undefined ? '–' : formatCount(value);
}

function restart(page: Page): HTMLElement[] {
  const button = actionButton(page, {
    verb: 'Restart',
    object: 'the workers',
    meaning: 'Each worker hands over to a new process, one after another; sleeping devices stay connected.',
    isDanger: true,
    run: async () => {
      await page.client.change('/v1/cluster/restart', {});
      return 'The workers hand over, one after another.';
    },
  });
  return button === null ? [] : [button];
}
