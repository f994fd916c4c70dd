/**
 * One call of a simulated bridge: rings, reports the phone as connected once the device has accepted, and then plays. Source:
 * calls-and-media.md, Legs and Call sessions and call status.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import {
  soundShape,
  type BridgeLeg,
  type LegText,
  type StartText,
  type StateText,
} from '../simulator/media-leg.ts';
import type { FrameSink } from './bridge-playback.ts';
import type { ReportBridgeEvent } from './call-report.ts';
import type { AudioFrameFormat, UplinkWish } from '../../model/media/sound.ts';
import { ConnectionGone } from '../simulator/awaited-items.ts';

/** Formats in which the bridge requests the device's media; null: unchanged. */
export interface UplinkPlan {
  readonly video: UplinkWish['video'];
  /** Rate and channels are those of the call. */
  readonly audio: AudioFrameFormat | null;
}

export interface CallDeps {
  readonly clock: Clock;
  readonly onEvent: ReportBridgeEvent;
  /** Milliseconds from ringing until the phone joins, accepted or not; null: waits for the device. */
  readonly answerAfterMs: number | null;
  readonly uplink: UplinkPlan;
  play(start: StartText, sendQueue: FrameSink): Playback;
}

export interface Playback {
  wantKeyFrame(): void;
  stop(): void;
}

/** Pings keep a call without frames alive. Source: calls-and-media.md, Call sessions and call status. */
const pingEveryMs = 20_000;

export class SimulatedCall {
  readonly session: string;
  readonly #deps: CallDeps;
  readonly #start: StartText;
  readonly #leg: BridgeLeg;
  #playback: Playback | null = null;
  #cancelAnswer: Cancel | null = null;
  #isOver = false;

  constructor(deps: CallDeps, session: string, start: StartText, leg: BridgeLeg) {
    this.#deps = deps;
    this.session = session;
    this.#start = start;
    this.#leg = leg;
  }

  wantKeyFrame(): void {
    this.#playback?.wantKeyFrame();
  }

  /** Handles the texts of the leg; resolves when it is closed. */
  async attend(): Promise<void> {
    const cancelPings = this.#deps.clock.every(pingEveryMs, () => void this.#leg.ping());
    this.#begin();
    try {
      for (;;) this.#handleText(await this.#leg.until(isStateOrError));
    } catch (error) {
      if (!(error instanceof ConnectionGone)) throw error;
    } finally {
      cancelPings();
    }
  }

  end(): void {
    this.#isOver = true;
    this.#cancelAnswer?.();
    this.#playback?.stop();
    this.#playback = null;
  }

  #begin(): void {
    const { video, audio: format } = this.#deps.uplink;
    const audio = format === null ? null : soundShape(format, this.#start.audio);
    if (video !== null || audio !== null) this.#leg.requestUplink({ video, audio });
    this.#report('ringing');
    const { clock, answerAfterMs } = this.#deps;
    if (answerAfterMs !== null) this.#cancelAnswer = clock.after(answerAfterMs, () => this.#answer());
  }

  #handleText(text: LegText): void {
    const { onEvent } = this.#deps;
    if (text.type === 'error') return reportTrouble(onEvent, `the listener says: ${String(text['message'])}`);
    const { state, reason } = text as StateText;
    const why = reason === null ? '' : `, ${reason}`;
    onEvent('state', { session: this.session, state, reason }, `receives: the call is ${state}${why}`);
    if (state === 'attempting') this.#answer();
    else if (state === 'connected') this.#play();
    else if (state === 'ended') this.end();
  }

  /** Reports that the phone has joined, and plays. */
  #answer(): void {
    if (this.#playback !== null) return;
    this.#report('connected');
    this.#play();
  }

  #report(state: 'ringing' | 'connected'): void {
    this.#leg.report(state);
    this.#deps.onEvent('state', { session: this.session, state }, `reports: ${state}`);
  }

  #play(): void {
    this.#cancelAnswer?.();
    if (this.#isOver) return;
    this.#playback ??= this.#deps.play(this.#start, this.#leg);
  }
}

export function reportTrouble(onEvent: ReportBridgeEvent, reason: string): void {
  onEvent('trouble', { reason }, reason);
}

function isStateOrError({ type }: LegText): boolean {
  return type === 'state' || type === 'error';
}
