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
    sleepLogin: counter('sleep_logins', 'Sleep logins by result.', 'result', ['accepted', ...sleepRefusals]),
    sleepEnd: counter('sleep_ends', 'Ends of sleep sessions by reason.', 'reason', sleepEndReasons),
    signalLogin: counter('signal_logins', 'Signal logins by result.', 'result', [
      'accepted',
      ...signalRefusals,
    ]),
    signalEnd: counter('signal_ends', 'Ends of signal sessions by reason.', 'reason', signalEndReasons),
    refusedLogin: counter(
      'refused_logins',
      'Refused logins of named devices at both ports, by reason.',
      'reason',
      loginRefusals,
    ),
    wakeup: counter('wakeups', 'Wakeups by outcome.', 'outcome', [
      'accepted',
      'repeated',
      'failed',
      'unknown',
      'refused',
    ]),
    message: counter('messages', 'Messages to devices by outcome.', 'outcome', [
      'acknowledged',
      'unknown',
      'repeated',
      'refused',
    ]),
    event: counter('events', 'Events committed to the log.', 'type', eventTypes),
    webhookDelivery: counter(
      'webhook_deliveries',
      'Webhook delivery attempts and final results, by result.',
      'result',
      webhookResults,
    ),
    authFailure: counter<string>('auth_failures', 'Refused signatures by reason.', 'reason', []),
    opsAuthFailure: counter(
      'ops_auth_failures',
      'Wrong credentials at the ops listener by kind.',
      'credential',
      opsCredentials,
    ),
    /**
     * `issued`: a new session; `renewed`: the same session; `changed`: the same with other media parameters; `repeated`: a repeated
     * signature, with the same answer.
     */
    callCredentials: counter('call_credentials', 'Requests for call credentials by outcome.', 'outcome', [
      'issued',
      'renewed',
      'changed',
      'repeated',
      'refused',
    ]),
    callEnd: counter('call_ends', 'Ends of call sessions by reason.', 'reason', callEndReasons),
    /** `taken`: changed the call; `repeated`: a known or older state; `stray`: for an ended or other session. */
    callReport: counter('call_reports', 'Reports of legs by result.', 'result', [
      'taken',
      'repeated',
      'stray',
    ]),
    /**
     * `taken`: ended the call; `stray`: no call of the device, or a connected one; `unreachable`: the node of the call did not
     * answer; `dropped`: too many rejections were pending.
     */
    callRejection: counter(
      'call_rejections',
      'Calls rejected by controllers without joining, by result.',
      'result',
      ['taken', 'stray', 'unreachable', 'dropped'],
    ),
    bridgeAnswer: counter(
      'bridge_answers',
      'Offers of calls to bridges, by answer.',
      'result',
      bridgeAnswers,
    ),
    mediaLogin: counter('media_logins', 'Logins of legs at the media listener by result.', 'result', [
      'accepted',
      ...legRefusals,
    ]),
    mediaFrames: counter('media_frames', 'Frames of calls by result.', 'result', mediaFrameResults),
    peerAsk: counter('peer_asks', 'Requests to other members by result.', 'result', [
      'answered',
      'nobody',
      'unsent',
      'unanswered',
    ]),
    mediaRebuilds: total(
      'media_rebuilds',
      'Scalers and encoders recreated because the size of a source changed.',
    ),
    httpRequest: requestHistogram(
      'http_request_duration_seconds',
      'Time from a request to its answer, by route, HTTP status and code.',
    ),
    longPoll: requestHistogram(
      'http_long_poll_duration_seconds',
      'Time from a request to its answer for long polls, which are in no other histogram.',
      waitingBoundsS,
    ),
    frontCredentials: histogram(
      'front_credentials_seconds',
      'Time until a change of credentials is in force at every API front.',
    ),
    wakeupWrite: histogram(
      'wakeup_write_seconds',
      'Time from the write of a wake packet until the kernel accepts it.',
    ),
    wakeupToOnline: histogram(
      'wakeup_to_online_seconds',
      'Time from the accepted write of a wakeup to the signal login that completes it.',
      waitingBoundsS,
    ),
    mediaFrameTime: histogram(
      'media_frame_seconds',
      'Time from the arrival of a frame at the bridge leg to its finished picture.',
    ),
    /** Answered requests only. */
    peerAnswerTime: histogram('peer_ask_seconds', 'Time from a request to another member to its answer.'),
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
