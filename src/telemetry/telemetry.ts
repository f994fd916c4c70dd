/** What the house counts. Names and labels are those of running.md; the ops room turns them into metrics. */
import type { CallEndReason, LegRefusal } from '../model/call.ts';
import type { EventType } from '../model/events.ts';
import type { MediaFrameResult } from '../model/picture.ts';
import type { SignalEndReason, SignalRefusal } from '../model/signal.ts';
import type { SleepEndReason, SleepRefusal } from '../model/sleep.ts';

export const wakeupOutcomeLabels = ['accepted', 'repeated', 'failed', 'unknown', 'refused'] as const;
export type WakeupOutcomeLabel = (typeof wakeupOutcomeLabels)[number];

export const messageOutcomeLabels = ['acknowledged', 'unknown', 'repeated', 'refused'] as const;
export type MessageOutcomeLabel = (typeof messageOutcomeLabels)[number];

/** `delivered`: 2xx; `failed`: it is tried again; `parked`: given up; `gone`: 410, the hook is off; `lost`: the log no longer had it. */
export const webhookResultLabels = ['delivered', 'failed', 'parked', 'gone', 'lost'] as const;
export type WebhookResultLabel = (typeof webhookResultLabels)[number];

/**
 * `issued`: a new session; `renewed`: the same one again; `changed`: with other media parameters; `repeated`: a
 * signature that was answered before, answered alike.
 */
export const credentialsOutcomeLabels = ['issued', 'renewed', 'changed', 'repeated', 'refused'] as const;
export type CredentialsOutcomeLabel = (typeof credentialsOutcomeLabels)[number];

/** `taken`: it changed the call; `repeated`: it says what is known or goes back; `stray`: of an ended or other session. */
export const callReportLabels = ['taken', 'repeated', 'stray'] as const;
export type CallReportLabel = (typeof callReportLabels)[number];

/** What became of asking a bridge to take a call. */
export const bridgeAnswerLabels = ['accepted', 'refused', 'unanswered', 'gone'] as const;
export type BridgeAnswerLabel = (typeof bridgeAnswerLabels)[number];

/** What became of a question to another member. */
export const peerAskLabels = ['answered', 'nobody', 'unsent', 'unanswered'] as const;
export type PeerAskLabel = (typeof peerAskLabels)[number];

/** A login of this member in what all share: it has its seat, or a later one elsewhere has it. */
export const slotLabels = ['taken', 'lost'] as const;
export type SlotLabel = (typeof slotLabels)[number];

export interface Telemetry {
  httpRequest(route: string, status: number, code: number, seconds: number): void;
  authFailure(reason: string): void;
  sleepLogin(result: 'accepted' | SleepRefusal): void;
  sleepEnd(reason: SleepEndReason): void;
  wakeup(outcome: WakeupOutcomeLabel): void;
  /** From the write call to the kernel having the bytes. */
  wakeupWrite(seconds: number): void;
  /** From the accepted write to the signal login that completed it. */
  wakeupToOnline(seconds: number): void;
  signalLogin(result: 'accepted' | SignalRefusal): void;
  signalEnd(reason: SignalEndReason): void;
  message(outcome: MessageOutcomeLabel): void;
  /** Committed to the log. */
  event(type: EventType): void;
  webhookDelivery(result: WebhookResultLabel, count: number): void;
  callCredentials(outcome: CredentialsOutcomeLabel): void;
  callEnd(reason: CallEndReason): void;
  callReport(result: CallReportLabel): void;
  bridgeAnswer(result: BridgeAnswerLabel): void;
  /** A leg asked to be let in at the media listener. */
  mediaLogin(result: 'accepted' | LegRefusal): void;
  /** Frames of calls by what became of them; called for every frame. */
  mediaFrames(result: MediaFrameResult, count: number): void;
  /** Scalers and encoders made because a size changed, the first ones included. */
  mediaRebuilds(count: number): void;
  /** A question to another member, from its asking to what became of it. */
  peerAsk(result: PeerAskLabel, seconds: number): void;
  slot(result: SlotLabel): void;
  /** From a frame's coming at the bridge leg to its picture being finished. */
  mediaFrameTime(seconds: number): void;
}

/** What the media process counts. */
export type MediaTelemetry = Pick<
  Telemetry,
  'mediaLogin' | 'mediaFrames' | 'mediaRebuilds' | 'mediaFrameTime'
>;
