/** Webhooks as text for people. */
import type { FailureJson, ParkedJson, WebhookJson } from '../../core/ports/webhook-admin.ts';
import { ageInWords, counted } from '../shell/option-values.ts';
import { reveilleCommand } from '../shell/command-error.ts';
import { alignColumns } from '../shell/output.ts';

export function webhookTable(webhooks: readonly WebhookJson[], nowMs: number): string {
  if (webhooks.length === 0) return 'no webhooks in the registry';
  const heading = ['APPLICATION', 'URL', 'STATE', 'BEHIND', 'FAILED', 'PARKED', 'DELIVERED', 'LAST FAILURE'];
  const rows = webhooks.map((webhook) => [
    webhook.app_id,
    webhook.url,
    webhook.state,
    webhook.behind,
    webhook.failed,
    webhook.parked,
    age(webhook.last_success_at, nowMs),
    failure(webhook.last_failure, nowMs),
  ]);
  return alignColumns([heading, ...rows]);
}

export function describeWebhookAlone(
  webhook: WebhookJson,
  parked: readonly ParkedJson[],
  nowMs: number,
): string {
  const rows = [
    ['webhook', webhook.url],
    ['application', webhook.app_id],
    ['types', webhook.types.join(', ')],
    ['state', stateInWords(webhook, nowMs)],
    ['behind', `${counted(webhook.behind, 'event')} of the log`],
    ['failed', `${counted(webhook.failed, 'waits', 'wait')} to be tried again`],
    ['parked', `${webhook.parked} given up`],
    ['delivered', age(webhook.last_success_at, nowMs)],
    ['last failure', failure(webhook.last_failure, nowMs)],
  ];
  const listed = parked.length === 0 ? [] : ['', parkedTable(parked), ...whatElse(webhook, parked)];
  return [alignColumns(rows), ...listed].join('\n');
}

function parkedTable(parked: readonly ParkedJson[]): string {
  const heading = ['PARKED EVENT', 'AT', 'TYPE', 'DEVICE', 'LAST ANSWER'];
  const rows = parked.map((event) => [
    event.event_id,
    event.at,
    event.type,
    event.device_id,
    event.last_failure.reason,
  ]);
  return alignColumns([heading, ...rows]);
}

function whatElse({ parked: count, url }: WebhookJson, parked: readonly ParkedJson[]): string[] {
  const more = count > parked.length ? [`there may be more: --after ${parked.at(-1)?.sequence}`] : [];
  return ['', ...more, `send them again: ${reveilleCommand(`webhook replay ${url}`)}`];
}

function stateInWords({ state, url, switched_off_at: offAt }: WebhookJson, nowMs: number): string {
  if (state === 'on') return 'on';
  if (state === 'open-circuit') return 'it keeps failing: one event at a time is tried';
  return `off: it answered 410 ${age(offAt, nowMs)}; on again: ${reveilleCommand(`webhook enable ${url}`)}`;
}

function failure(last: FailureJson | null, nowMs: number): string | null {
  return last === null ? null : `${age(last.at, nowMs)}: ${last.reason}`;
}

function age(at: string | null, nowMs: number): string {
  return at === null ? 'never' : ageInWords(Date.parse(at), nowMs);
}
