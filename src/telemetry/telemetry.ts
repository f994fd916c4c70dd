/**
 * Every counter and histogram of the server, declared once: the port for counting code, the metric, and its place on /metrics follow
 * from the declaration. Names and labels: running.md; no label has a device id.
 */
import { callEndReasons, legRefusals } from '../model/call.ts';
import { loginRefusals } from '../model/connectivity.ts';
import { eventTypes } from '../model/events.ts';
import { mediaFrameResults } from '../model/media/picture.ts';
import { signalEndReasons, signalRefusals } from '../model/signal.ts';
import { sleepEndReasons, sleepRefusals } from '../model/sleep.ts';
import type { Instruments } from './instruments.ts';

/** `delivered`: 2xx; `failed`: will be retried; `parked`: given up; `gone`: 410, disabled; `lost`: expired from the log. */
const webhookResults = ['delivered', 'failed', 'parked', 'gone', 'lost'] as const;
export type WebhookResultLabel = (typeof webhookResults)[number];

const bridgeAnswers = ['accepted', 'refused', 'unanswered', 'gone', 'load', 'engine'] as const;
export type BridgeAnswerLabel = (typeof bridgeAnswers)[number];

/** `token`: a bearer token; `login`: a token entered at the console; `ticket`: single-use, opens a call's page. */
const opsCredentials = ['token', 'login', 'ticket'] as const;
export type OpsCredentialLabel = (typeof opsCredentials)[number];

/** Upper bounds for durations that include the wake of a device, seconds. */
const waitingBoundsS = [0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 45, 60];

export function declareMetrics({
  counter,
  total,
  histogram,
  requestHistogram,
}: Pick<Instruments, 'counter' | 'total' | 'histogram' | 'requestHistogram'>) {
  return {
    sleepLogin: counter('reveille_sleep_logins_total', 'Sleep logins by result.', 'result', [
      'accepted',
      ...sleepRefusals,
    ]),
    sleepEnd: counter(
      'reveille_sleep_ends_total',
      'Ends of sleep sessions by reason.',
      'reason',
      sleepEndReasons,
    ),
    signalLogin: counter('reveille_signal_logins_total', 'Signal logins by result.', 'result', [
      'accepted',
      ...signalRefusals,
    ]),
    signalEnd: counter(
      'reveille_signal_ends_total',
      'Ends of signal sessions by reason.',
      'reason',
      signalEndReasons,
    ),
    refusedLogin: counter(
      'reveille_refused_logins_total',
      'Refused logins of named devices at both ports, by reason.',
      'reason',
      loginRefusals,
    ),
    wakeup: counter('reveille_wakeups_total', 'Wakeups by outcome.', 'outcome', [
      'accepted',
      'repeated',
      'failed',
      'unknown',
      'refused',
    ]),
    message: counter('reveille_messages_total', 'Messages to devices by outcome.', 'outcome', [
      'acknowledged',
      'unknown',
      'repeated',
      'refused',
    ]),
    event: counter('reveille_events_total', 'Events committed to the log.', 'type', eventTypes),
    webhookDelivery: counter(
      'reveille_webhook_deliveries_total',
      'Webhook delivery attempts and final results, by result.',
      'result',
      webhookResults,
    ),
    authFailure: counter<string>(
      'reveille_auth_failures_total',
      'Refused signatures by reason.',
      'reason',
      [],
    ),
    opsAuthFailure: counter(
      'reveille_ops_auth_failures_total',
      'Wrong credentials at the ops listener by kind.',
      'credential',
      opsCredentials,
    ),
    /**
     * `issued`: a new session; `renewed`: the same session; `changed`: the same with other media parameters; `repeated`: a repeated
     * signature, with the same answer.
     */
    callCredentials: counter(
      'reveille_call_credentials_total',
      'Requests for call credentials by outcome.',
      'outcome',
      ['issued', 'renewed', 'changed', 'repeated', 'refused'],
    ),
    callEnd: counter(
      'reveille_call_ends_total',
      'Ends of call sessions by reason.',
      'reason',
      callEndReasons,
    ),
    /** `taken`: changed the call; `repeated`: a known or older state; `stray`: for an ended or other session. */
    callReport: counter('reveille_call_reports_total', 'Reports of legs by result.', 'result', [
      'taken',
      'repeated',
      'stray',
    ]),
    /**
     * `taken`: ended the call; `stray`: no call of the device, or a connected one; `unreachable`: the node of the call did not
     * answer; `dropped`: too many rejections were pending.
     */
    callRejection: counter(
      'reveille_call_rejections_total',
      'Calls rejected by controllers without joining, by result.',
      'result',
      ['taken', 'stray', 'unreachable', 'dropped'],
    ),
    bridgeAnswer: counter(
      'reveille_bridge_answers_total',
      'Offers of calls to bridges, by answer.',
      'result',
      bridgeAnswers,
    ),
    mediaLogin: counter(
      'reveille_media_logins_total',
      'Logins of legs at the media listener by result.',
      'result',
      ['accepted', ...legRefusals],
    ),
    mediaFrames: counter(
      'reveille_media_frames_total',
      'Frames of calls by result.',
      'result',
      mediaFrameResults,
    ),
    peerAsk: counter('reveille_peer_asks_total', 'Requests to other members by result.', 'result', [
      'answered',
      'nobody',
      'unsent',
      'unanswered',
    ]),
    mediaRebuilds: total(
      'reveille_media_rebuilds_total',
      'Scalers and encoders recreated because the size of a source changed.',
    ),
    httpRequest: requestHistogram(
      'reveille_http_request_duration_seconds',
      'Time from a request to its answer, by route, HTTP status and code.',
    ),
    longPoll: requestHistogram(
      'reveille_http_long_poll_duration_seconds',
      'Time from a request to its answer for long polls, which are in no other histogram.',
      waitingBoundsS,
    ),
    frontCredentials: histogram(
      'reveille_front_credentials_seconds',
      'Time until a change of credentials is in force at every API front.',
    ),
    wakeupWrite: histogram(
      'reveille_wakeup_write_seconds',
      'Time from the write of a wake packet until the kernel accepts it.',
    ),
    wakeupToOnline: histogram(
      'reveille_wakeup_to_online_seconds',
      'Time from the accepted write of a wakeup to the signal login that completes it.',
      waitingBoundsS,
    ),
    mediaFrameTime: histogram(
      'reveille_media_frame_seconds',
      'Time from the arrival of a frame at the bridge leg to its finished picture.',
    ),
    /** Answered requests only. */
    peerAnswerTime: histogram(
      'reveille_peer_ask_seconds',
      'Time from a request to another member to its answer.',
    ),
  };
}

/** The port for counting code. */
export type Telemetry = Readonly<ReturnType<typeof declareMetrics>>;

/** The part of the port for the media process. */
export type MediaTelemetry = Pick<
  Telemetry,
  'mediaLogin' | 'mediaFrames' | 'mediaRebuilds' | 'mediaFrameTime'
>;

/** The part of the port for an edge. */
export type SleepTelemetry = Pick<Telemetry, 'sleepLogin' | 'sleepEnd' | 'wakeupWrite'>;
