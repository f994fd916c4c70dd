/**
 * Everything the server counts, declared once: the port that counting code takes, the metric behind it and its place on
 * /metrics all follow from the declaration. Names and labels are those of running.md; never a device id in a label.
 */
import { callEndReasons, legRefusals } from '../model/call.ts';
import { loginRefusals } from '../model/connectivity.ts';
import { eventTypes } from '../model/events.ts';
import { mediaFrameResults } from '../model/media/picture.ts';
import { signalEndReasons, signalRefusals } from '../model/signal.ts';
import { sleepEndReasons, sleepRefusals } from '../model/sleep.ts';
import type { Instruments } from './instruments.ts';

/**
 * `delivered`: 2xx; `failed`: it is tried again; `parked`: given up; `gone`: 410, the hook is off; `lost`: the log no longer
 * had it.
 */
const webhookResults = ['delivered', 'failed', 'parked', 'gone', 'lost'] as const;
export type WebhookResultLabel = (typeof webhookResults)[number];

const bridgeAnswers = ['accepted', 'refused', 'unanswered', 'gone', 'load', 'engine'] as const;
export type BridgeAnswerLabel = (typeof bridgeAnswers)[number];

/** `token`: a bearer token; `login`: one given to the console; `ticket`: that of a call's page, which opens once. */
const opsCredentials = ['token', 'login', 'ticket'] as const;
export type OpsCredentialLabel = (typeof opsCredentials)[number];

/** For what waits for a device, which takes it seconds. */
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
      'Refused logins at both ports that named a device by reason.',
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
      'Webhook attempts and ends by result.',
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
     * `issued`: a new session; `renewed`: the same one again; `changed`: with other media parameters; `repeated`: a
     * signature that was answered before, answered alike.
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
    /** `taken`: it changed the call; `repeated`: it repeats or precedes what is known; `stray`: of an ended or other session. */
    callReport: counter('reveille_call_reports_total', 'Reports of legs by what became of them.', 'result', [
      'taken',
      'repeated',
      'stray',
    ]),
    /**
     * `taken`: it ended the call; `stray`: of no call of the device, or of one that is connected; `unreachable`: who keeps
     * the call was not reached; `dropped`: too many were under way.
     */
    callRejection: counter(
      'reveille_call_rejections_total',
      'Calls that controllers rejected without joining them by what became of that.',
      'result',
      ['taken', 'stray', 'unreachable', 'dropped'],
    ),
    bridgeAnswer: counter(
      'reveille_bridge_answers_total',
      'Bridges asked to take a call by their answer.',
      'result',
      bridgeAnswers,
    ),
    mediaLogin: counter(
      'reveille_media_logins_total',
      'Legs that asked to be let in at the media listener by result.',
      'result',
      ['accepted', ...legRefusals],
    ),
    /** Called for every frame. */
    mediaFrames: counter(
      'reveille_media_frames_total',
      'Frames of calls by what became of them.',
      'result',
      mediaFrameResults,
    ),
    peerAsk: counter(
      'reveille_peer_asks_total',
      'Questions to other members by what became of them.',
      'result',
      ['answered', 'nobody', 'unsent', 'unanswered'],
    ),
    mediaRebuilds: total(
      'reveille_media_rebuilds_total',
      'Scalers and encoders made anew because the size of a source changed.',
    ),
    httpRequest: requestHistogram(
      'reveille_http_request_duration_seconds',
      'From the request to its answer, by route, HTTP status and code.',
    ),
    longPoll: requestHistogram(
      'reveille_http_long_poll_duration_seconds',
      'From the request to its answer, of requests that asked to wait, which are in no other histogram.',
      waitingBoundsS,
    ),
    frontCredentials: histogram(
      'reveille_front_credentials_seconds',
      'From a change of credentials to every front of the API having it.',
    ),
    wakeupWrite: histogram(
      'reveille_wakeup_write_seconds',
      'From the write of a wake packet to the kernel having it.',
    ),
    wakeupToOnline: histogram(
      'reveille_wakeup_to_online_seconds',
      'From the accepted write of a wakeup to the signal login that completed it.',
      waitingBoundsS,
    ),
    mediaFrameTime: histogram(
      'reveille_media_frame_seconds',
      'From the coming of a frame at the bridge leg to its picture being finished.',
    ),
    /** Of the questions that were answered. */
    peerAnswerTime: histogram('reveille_peer_ask_seconds', 'From asking another member to its answer.'),
  };
}

/** The port by which code counts. */
export type Telemetry = Readonly<ReturnType<typeof declareMetrics>>;

/** The part of the port that the media process counts through. */
export type MediaTelemetry = Pick<
  Telemetry,
  'mediaLogin' | 'mediaFrames' | 'mediaRebuilds' | 'mediaFrameTime'
>;

/** The part of the port that an edge counts through. */
export type SleepTelemetry = Pick<Telemetry, 'sleepLogin' | 'sleepEnd' | 'wakeupWrite'>;
