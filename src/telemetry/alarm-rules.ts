/**
 * Rules of the alarms: the alerts of deploy/prometheus/alerts.yml that a server can evaluate from its own figures of an hour, with the
 * same name, severity, limits and duration. docs/alerts.md has a row for each.
 */
import { alarmFiguresKept, alarmsEveryMs } from '../model/console-limits.ts';
import {
  before,
  both,
  either,
  increase,
  none,
  latest,
  over,
  only,
  peak,
  quantile,
  rate,
  share,
  total,
  under,
  until,
  type Condition,
  type Read,
} from './alarm-conditions.ts';
import type { NotedFigures } from './figure-history.ts';
import { metricOf } from './instruments.ts';

export type AlarmSeverity = 'critical' | 'warning';

/** Unit of the value; `percent`: a value from 0 to 1. */
export type AlarmUnit = 'count' | 'percent' | 'seconds';

export interface AlarmRule {
  readonly name: string;
  readonly severity: AlarmSeverity;
  /** The condition must be true for this time, milliseconds. */
  readonly forMs: number;
  readonly condition: Condition;
  readonly unit: AlarmUnit;
}

const dayS = 86_400;

type RuleTerms = Omit<AlarmRule, 'name'>;

function critical(forMinutes: number, condition: Condition, unit: AlarmUnit = 'count'): RuleTerms {
  return { severity: 'critical', forMs: forMinutes * 60_000, condition, unit };
}

function warning(forMinutes: number, condition: Condition, unit?: AlarmUnit): RuleTerms {
  return { ...critical(forMinutes, condition, unit), severity: 'warning' };
}

function among(...labels: readonly string[]): (label: string) => boolean {
  return (label) => labels.includes(label);
}

function not(...labels: readonly string[]): (label: string) => boolean {
  return (label) => !labels.includes(label);
}

/** `part / whole` exceeds the limit, and `whole` is more than `least` a second. */
function shareOver(limit: number, part: Read, whole: Read, least: number): Condition {
  return both(over(limit, share(part, whole)), over(least, whole));
}

const sessions = total(latest('sleep_sessions'));
const sessionsBefore = before('sleep_sessions', 10);
const logins = rate('sleep_logins_total', 5);
const wakeups = rate('wakeups_total', 5, not('refused'));
const requests = rate('http_request_duration_seconds_count', 5);
const asks = rate('peer_asks_total', 5);
const events = (type: string): Read => rate('events_total', 15, among(type));

const rules: Readonly<Record<string, RuleTerms>> = {
  ReveilleProcessDown: critical(1, none(latest('process_up'))),
  ReveilleProcessRestarts: warning(0, over(2, increase('process_restarts', 60))),
  ReveilleFrontDown: critical(1, none(latest('front_up'))),
  ReveilleFrontsReplaced: warning(0, over(2, increase('front_replacements', 60))),
  ReveilleFrontBusy: warning(10, over(0.9, latest('front_utilization')), 'percent'),
  ReveilleFrontsFull: critical(2, over(0, increase('front_refused_calls', 5))),
  ReveilleEventLoopLate: warning(5, over(0.2, latest('nodejs_eventloop_lag_p99_seconds')), 'seconds'),
  ReveilleDescriptorsLow: critical(
    5,
    over(0.9, share(latest('process_open_fds'), latest('process_max_fds'))),
    'percent',
  ),
  ReveilleStoreRefuses: critical(1, over(0, latest('store_refuses'))),
  ReveilleStoreDamaged: critical(0, over(0, latest('store_damaged_files'))),
  ReveilleStoreBehind: critical(1, over(50_000, latest('store_waiting_changes'))),
  ReveilleDiskLow: critical(5, under(0.1, share(latest('disk_free_bytes'), latest('disk_bytes'))), 'percent'),
  ReveilleCertificateExpires: warning(
    60,
    under(14 * dayS, until('certificate_expiry_timestamp_seconds')),
    'seconds',
  ),
  ReveilleCertificateExpired: critical(
    0,
    under(dayS, until('certificate_expiry_timestamp_seconds')),
    'seconds',
  ),
  ReveilleSessionsLost: critical(
    2,
    both(under(0.8, share(sessions, sessionsBefore)), over(100, sessionsBefore)),
    'percent',
  ),
  ReveilleLoginsRefused: warning(
    10,
    shareOver(0.2, rate('sleep_logins_total', 5, not('accepted', 'busy')), logins, 0.1),
    'percent',
  ),
  ReveilleLoginsBusy: critical(
    5,
    either(
      over(0, rate('sleep_logins_total', 5, among('busy'))),
      over(0, rate('signal_logins_total', 5, among('busy'))),
    ),
  ),
  ReveilleWakeupsFail: critical(
    5,
    shareOver(0.05, rate('wakeups_total', 5, among('failed', 'unknown')), wakeups, 0.1),
    'percent',
  ),
  ReveilleDevicesDoNotWake: warning(
    10,
    shareOver(0.2, events('device.wakeup.expired'), events('device.wakeup.accepted'), 0.02),
    'percent',
  ),
  ReveilleWakesSlow: warning(15, over(15, quantile(0.95, 'wakeup_to_online_seconds_bucket', 15)), 'seconds'),
  ReveilleApiErrors: critical(
    5,
    shareOver(
      0.02,
      rate('http_request_duration_seconds_count', 5, (status) => status.startsWith('5')),
      requests,
      0.1,
    ),
    'percent',
  ),
  ReveilleApiSlow: warning(
    10,
    over(0.5, quantile(0.99, 'http_request_duration_seconds_bucket', 5)),
    'seconds',
  ),
  ReveilleSignaturesRefused: warning(10, over(1, rate('auth_failures_total', 5))),
  ReveilleOpsTokensRefused: warning(
    0,
    over(10, total(only(increase('ops_auth_failures_total', 10), not('ticket')))),
  ),
  ReveilleWebhookBehind: warning(5, over(600, latest('webhook_oldest_event_seconds')), 'seconds'),
  ReveilleWebhookParked: warning(
    0,
    over(0, only(increase('webhook_deliveries_total', 60), among('parked', 'lost'))),
  ),
  ReveilleMediaDown: critical(1, both(none(latest('media_up')), over(0, peak('media_up')))),
  ReveilleMediaFull: warning(5, none(total(latest('media_room')))),
  ReveilleCallsWait: critical(2, over(0, total(only(latest('calls_waiting'), among('load', 'engine'))))),
  ReveillePicturesLate: warning(10, over(0.1, quantile(0.99, 'media_frame_seconds_bucket', 5)), 'seconds'),
  ReveilleNatsAway: critical(0.5, none(latest('cluster_nats_up'))),
  ReveilleMemberLost: critical(0.5, over(0, total(only(latest('cluster_members'), among('lost'))))),
  ReveilleOutboxGrows: warning(
    2,
    both(over(1000, latest('cluster_outbox_length')), over(0, increase('cluster_outbox_length', 5))),
  ),
  ReveilleEventsLag: warning(
    5,
    either(over(1000, latest('cluster_event_lag_events')), over(100, latest('cluster_registry_lag_changes'))),
  ),
  ReveillePeersSilent: warning(
    5,
    over(0.05, share(rate('peer_asks_total', 5, among('unsent', 'unanswered')), asks)),
    'percent',
  ),
};

export const alarmRules: readonly AlarmRule[] = Object.entries(rules).map(([name, terms]) => ({
  name,
  ...terms,
}));

/** Metrics by the label that distinguishes their series. Rules omit the prefix `reveille_`. */
const watched: Readonly<Record<string, readonly string[]>> = {
  '': [
    'front_refused_calls',
    'nodejs_eventloop_lag_p99_seconds',
    'process_open_fds',
    'process_max_fds',
    'store_refuses',
    'store_damaged_files',
    'store_waiting_changes',
    'disk_free_bytes',
    'disk_bytes',
    'sleep_sessions',
    'auth_failures_total',
    'webhook_oldest_event_seconds',
    'media_up',
    'media_room',
    'cluster_nats_up',
    'cluster_outbox_length',
    'cluster_event_lag_events',
    'cluster_registry_lag_changes',
  ],
  process: ['process_up', 'process_restarts'],
  front: ['front_up', 'front_utilization'],
  reason: ['front_replacements'],
  listener: ['certificate_expiry_timestamp_seconds'],
  result: ['sleep_logins_total', 'signal_logins_total', 'webhook_deliveries_total', 'peer_asks_total'],
  outcome: ['wakeups_total'],
  type: ['events_total'],
  le: [
    'wakeup_to_online_seconds_bucket',
    'http_request_duration_seconds_bucket',
    'media_frame_seconds_bucket',
  ],
  status: ['http_request_duration_seconds_count'],
  credential: ['ops_auth_failures_total'],
  for: ['calls_waiting'],
  state: ['cluster_members'],
};

export const alarmFigures: NotedFigures = {
  noted: new Map(
    Object.entries(watched).flatMap(([label, names]) =>
      names.map((name) => [metricOf(name), label === '' ? { name } : { name, label }] as const),
    ),
  ),
  everyMs: alarmsEveryMs,
  kept: alarmFiguresKept,
};
