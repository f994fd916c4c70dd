/**
 * One call of a simulated bridge: it rings, says that the phone has joined when the
 * device has accepted, and plays from then on. Source: calls-and-media.md, Legs and Call sessions and call status.
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
import type { SayOfBridge } from './call-report.ts';
import type { AudioFrameFormat, UplinkWish } from '../../model/media/sound.ts';
import { ConnectionGone } from '../simulator/awaited-items.ts';

/** Formats in which the bridge asks for the device's media; null: as the device sends them. */
export interface UplinkPlan {
  readonly video: UplinkWish['video'];
  /** At the rate and with the channels of the call. */
  readonly audio: AudioFrameFormat | null;
}

export interface CallDeps {
  readonly clock: Clock;
  readonly say: SayOfBridge;
  /** Milliseconds from the ringing after which the phone joins, accepted or not; null: it waits for the device. */
  readonly answerAfterMs: number | null;
  readonly uplink: UplinkPlan;
  play(start: StartText, sendQueue: FrameSink): Playback;
}

export interface Playback {
  wantKeyFrame(): void;
  stop(): void;
}

/** A call that carries no frames lives by pings. Source: calls-and-media.md, Call sessions and call status. */
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

  /** Resolves when the leg is gone. */
  async attend(): Promise<void> {
    const cancelPings = this.#deps.clock.every(pingEveryMs, () => void this.#leg.ping());
    this.#begin();
    try {
      for (;;) this.#hear(await this.#leg.until(isNews));
    } catch (error) {
      if (!(error instanceof ConnectionGone)) throw error;
    } finally {
      cancelPings();
    }
  }

  /** Nothing is played any more, whatever comes. */
  end(): void {
    this.#isOver = true;
    this.#cancelAnswer?.();
    this.#playback?.stop();
    this.#playback = null;
  }

  #begin(): void {
    const { video, audio: format } = this.#deps.uplink;
    const audio = format === null ? null : soundShape(format, this.#start.audio);
    if (video !== null || audio !== null) this.#leg.take({ video, audio });
    this.#report('ringing');
    const { clock, answerAfterMs } = this.#deps;
    if (answerAfterMs !== null) this.#cancelAnswer = clock.after(answerAfterMs, () => this.#answer());
  }

  #hear(news: LegText): void {
    const { say } = this.#deps;
    if (news.type === 'error') return sayTrouble(say, `the listener says: ${String(news['message'])}`);
    const { state, reason } = news as StateText;
    const why = reason === null ? '' : `, ${reason}`;
    say('state', { session: this.session, state, reason }, `told: the call is ${state}${why}`);
    if (state === 'attempting') this.#answer();
    else if (state === 'connected') this.#play();
    else if (state === 'ended') this.end();
  }

  /** The phone has joined. */
  #answer(): void {
    if (this.#playback !== null) return;
    this.#report('connected');
    this.#play();
  }

  #report(state: 'ringing' | 'connected'): void {
    this.#leg.report(state);
    this.#deps.say('state', { session: this.session, state }, `reports: ${state}`);
  }

  #play(): void {
    this.#cancelAnswer?.();
    if (this.#isOver) return;
    this.#playback ??= this.#deps.play(this.#start, this.#leg);
  }
}

export function sayTrouble(say: SayOfBridge, reason: string): void {
  say('trouble', { reason }, reason);
}

function isNews({ type }: LegText): boolean {
  return type === 'state' || type === 'error';
}
