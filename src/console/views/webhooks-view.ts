/** The webhooks of each application: state, parked events, and actions. */
import type { ParkedJson, WebhookAnswers, WebhookJson } from '../../webhooks/delivery/webhook-admin.ts';
import { actionButtons, optionalField, type Action, type Values } from '../actions.ts';
import { code, el } from '../dom.ts';
import { dataTable, polledView, readOnce } from '../lists.ts';
import { badge, button, facts, moment, section, type BadgeKind, type Page, type View } from '../page.ts';
import { formatCount, plural } from '../text.ts';
import { wordsOrDefault } from '../values.ts';
import { change } from './entry-kind.ts';

const everyMs = 10_000;
const applicationsMax = 500;

interface ApplicationsPage {
  readonly entries: readonly { readonly app_id: string; readonly name: string }[];
  readonly next: string | null;
}

export function openWebhooks(page: Page): View {
  const read = () =>
    Promise.all([
      page.client.read<ApplicationsPage>('/v1/registry/list', {
        kind: 'application',
        limit: applicationsMax,
      }),
      page.client.read<{ readonly webhooks: readonly WebhookJson[] }>('/v1/webhook/list'),
    ]);
  return polledView('Webhooks', everyMs, read, ([applications, { webhooks }], refresh) =>
    partsOf(page, applications, webhooks, refresh),
  );
}

function partsOf(
  page: Page,
  { entries, next }: ApplicationsPage,
  webhooks: readonly WebhookJson[],
  changed: () => void,
): HTMLElement[] {
  if (entries.length === 0) return [el('p', {}, 'The registry has no application.')];
  const parts = entries.map(({ app_id: appId, name }) => {
    const own = webhooks.filter((webhook) => webhook.app_id === appId);
    const content =
      own.length === 0
        ? [el('p', { class: 'faint' }, 'No webhook: the backend has to read the event log.')]
        : own.map((webhook) => webhookPart(page, webhook, changed));
    return section(
      name === appId || name === '' ? appId : `${name} (${appId})`,
      { class: 'card' },
      ...content,
      actionButtons(page, [addWebhook(page, appId)], changed),
    );
  });
  const rest = el(
    'p',
    { class: 'faint' },
    `These are the first ${applicationsMax} applications; reveille registry list applications has all.`,
  );
  return next === null ? parts : [...parts, rest];
}

const stateKinds: Readonly<Record<string, BadgeKind>> = { on: 'good', 'open-circuit': 'warn', off: 'bad' };
const stateTexts: Readonly<Record<string, string>> = {
  on: 'delivering',
  'open-circuit': 'paused: its receiver fails',
  off: 'switched off',
};

function webhookPart(page: Page, webhook: WebhookJson, changed: () => void): HTMLElement {
  const { url, state, behind, failed, parked, last_failure: failure } = webhook;
  const shown: (readonly [string, Node | string])[] = [
    ['State', badge(stateTexts[state] ?? state, stateKinds[state] ?? 'plain')],
    ['Events behind', formatCount(behind)],
    ['Events to retry', formatCount(failed)],
    ['Parked events', parked === 0 ? '0' : badge(formatCount(parked), 'warn')],
    ['Last success', momentOf(webhook.last_success_at)],
    [
      'Last failure',
      failure === null
        ? 'none'
        : el(
            'span',
            {},
            momentOf(failure.at),
            `: ${failure.reason}${failure.status === null ? '' : ` (${failure.status})`}`,
          ),
    ],
    ['Types', webhook.types.includes('*') ? 'all' : webhook.types.join(', ')],
  ];
  return el(
    'div',
    { class: 'webhook' },
    el('h3', {}, el('bdi', {}, url)),
    facts(shown),
    actionButtons(page, webhookActions(page, webhook), changed),
    parked > 0 ? parkedList(page, webhook) : '',
  );
}

function momentOf(iso: string | null): Node | string {
  return iso === null ? 'never' : moment(Date.parse(iso));
}

interface AddedWebhook {
  readonly webhook: { readonly secret: string };
}

function addWebhook({ client }: Page, appId: string): Action {
  const terms = {
    verb: 'Add a webhook',
    object: `of ${appId}`,
    meaning: 'Its events are sent to the URL, signed with a secret that the server generates and shows once.',
    fields: [
      { name: 'url', label: 'URL' },
      optionalField('types', 'Types of events', 'separated by commas; default: all'),
    ],
  };
  const bodyOf = ({ url, types = '' }: Values) => ({ app_id: appId, url, types: wordsOrDefault(types) });
  return change(client, '/v1/webhook/add', terms, bodyOf, ({ webhook }: AddedWebhook) => ({
    sentence: 'The webhook is added.',
    secrets: [['Secret', webhook.secret]],
  }));
}

function webhookActions(page: Page, webhook: WebhookJson): Action[] {
  const { url, app_id: appId, parked, state } = webhook;
  const named = { url, app_id: appId };
  const object = `the webhook ${url}`;
  const act = (
    path: string,
    verb: string,
    meaning: string,
    result: string | ((answer: never) => string),
  ): Action => {
    const terms = { verb, object, meaning, isDanger: verb === 'Remove' };
    return change(page.client, `/v1/webhook/${path}`, terms, () => named, result);
  };
  const test = act('test', 'Test', 'The server sends it one test event now.', testResult);
  const again = `The server sends the ${plural(parked, 'parked event')} again, with the same ids.`;
  const replay = act('replay', 'Replay', again, ({ replayed }: WebhookAnswers['replay']) => {
    return `${plural(replayed, 'event')} will be sent again.`;
  });
  const continues = 'It continues from the event at which it was switched off.';
  const enable = act('enable', 'Switch on', continues, 'It is switched on.');
  const ends = 'The server sends it no more events, and drops undelivered ones.';
  const remove = act('remove', 'Remove', ends, 'The webhook is removed.');
  return [test, ...(parked > 0 ? [replay] : []), ...(state === 'off' ? [enable] : []), remove];
}

/** Throws if the test was not delivered. */
function testResult(result: WebhookAnswers['test']): string {
  if (!result.delivered) throw new Error(`not delivered: ${result.reason}`);
  return `Delivered in ${result.took_ms} ms, with status ${result.status}.`;
}

function parkedList(page: Page, { url, app_id: appId }: WebhookJson): HTMLElement {
  const read = async (): Promise<HTMLElement[]> => {
    const query = { url, app_id: appId, limit: 100 };
    const { parked } = await page.client.read<{ readonly parked: readonly ParkedJson[] }>(
      '/v1/webhook/list',
      query,
    );
    const table = dataTable('Parked events', 'None.', parked, [
      { name: 'Event', cell: ({ type }) => code(type) },
      { name: 'Device', cell: (event) => el('bdi', {}, event.device_id) },
      { name: 'Time', cell: ({ at }) => momentOf(at), isWide: true },
      { name: 'Reason', cell: (event) => event.last_failure.reason },
    ]);
    return [table];
  };
  const opener = button('Show parked events', () => opener.replaceWith(readOnce(read).element));
  return el('div', {}, opener);
}
