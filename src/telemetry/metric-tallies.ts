/** Every counter that has one label: its name, what it counts, and the labels that are there before the first is counted. */
import { Counter, type Registry } from 'prom-client';
import { callEndReasons, legRefusals } from '../model/call.ts';
import { eventTypes } from '../model/events.ts';
import { mediaFrameResults } from '../model/picture.ts';
import { signalEndReasons, signalRefusals } from '../model/signal.ts';
import { sleepEndReasons, sleepRefusals } from '../model/sleep.ts';
import {
  bridgeAnswerLabels,
  callReportLabels,
  credentialsOutcomeLabels,
  messageOutcomeLabels,
  peerAskLabels,
  slotLabels,
  wakeupOutcomeLabels,
  webhookResultLabels,
} from './telemetry.ts';
import { LabelTally } from './label-tally.ts';

export type MetricTallies = ReturnType<typeof registerTallies>;

export function registerTallies(registry: Registry) {
  const tally = <Label extends string>(
    name: string,
    help: string,
    labelName: string,
    known: readonly Label[],
  ): LabelTally<Label> => new LabelTally(registry, name, help, labelName, known);
  return {
    sleepLogins: tally('reveille_sleep_logins_total', 'Sleep logins by result.', 'result', [
      'accepted',
      ...sleepRefusals,
    ]),
    sleepEnds: tally(
      'reveille_sleep_ends_total',
      'Ends of sleep sessions by reason.',
      'reason',
      sleepEndReasons,
    ),
    signalLogins: tally('reveille_signal_logins_total', 'Signal logins by result.', 'result', [
      'accepted',
      ...signalRefusals,
    ]),
    signalEnds: tally(
      'reveille_signal_ends_total',
      'Ends of signal sessions by reason.',
      'reason',
      signalEndReasons,
    ),
    wakeups: tally('reveille_wakeups_total', 'Wakeups by outcome.', 'outcome', wakeupOutcomeLabels),
    messages: tally(
      'reveille_messages_total',
      'Messages to devices by outcome.',
      'outcome',
      messageOutcomeLabels,
    ),
    events: tally('reveille_events_total', 'Events committed to the log.', 'type', eventTypes),
    webhookDeliveries: tally(
      'reveille_webhook_deliveries_total',
      'Webhook attempts and ends by result.',
      'result',
      webhookResultLabels,
    ),
    authFailures: tally<string>(
      'reveille_auth_failures_total',
      'Refused signatures by reason.',
      'reason',
      [],
    ),
    callCredentials: tally(
      'reveille_call_credentials_total',
      'Requests for call credentials by outcome.',
      'outcome',
      credentialsOutcomeLabels,
    ),
    callEnds: tally('reveille_call_ends_total', 'Ends of call sessions by reason.', 'reason', callEndReasons),
    callReports: tally(
      'reveille_call_reports_total',
      'Reports of legs by what became of them.',
      'result',
      callReportLabels,
    ),
    bridgeAnswers: tally(
      'reveille_bridge_answers_total',
      'Bridges asked to take a call by their answer.',
      'result',
      bridgeAnswerLabels,
    ),
    mediaLogins: tally(
      'reveille_media_logins_total',
      'Legs that asked to be let in at the media listener by result.',
      'result',
      ['accepted', ...legRefusals],
    ),
    mediaFrames: tally(
      'reveille_media_frames_total',
      'Frames of calls by what became of them.',
      'result',
      mediaFrameResults,
    ),
    peerAsks: tally(
      'reveille_peer_asks_total',
      'Questions to other members by what became of them.',
      'result',
      peerAskLabels,
    ),
    slots: tally(
      'reveille_seat_claims_total',
      'Logins of this member by what became of them in what all members share.',
      'result',
      slotLabels,
    ),
    mediaRebuilds: new Counter({
      name: 'reveille_media_rebuilds_total',
      help: 'Scalers and encoders made because the size of a source changed, the first ones included.',
      registers: [registry],
    }),
  };
}
