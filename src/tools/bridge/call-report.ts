/**
 * The output of a played bridge, and of its call's device where that is played as well: each step as a line, the flow of
 * pictures in one line that stays, and the sums at the end. With `--json` each is an object with its `event`.
 */
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import { noPlaybackTally, type PlaybackTally } from './bridge-playback.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { reveilleCommand } from '../../cli/shell/command-error.ts';
import { type LegCounts, noLegCounts, soundInWords } from '../simulator/leg-counts.ts';
import { timeOfDay } from '../../cli/api/events-text.ts';
import type { Size } from '../../model/call.ts';
import type { ProgressLine } from '../../cli/shell/output.ts';
import { counted } from '../../cli/shell/option-values.ts';

/** The events of a bridge, as it reports them. */
export interface BridgeLogger {
  notify(event: string, json: object, text: string): void;
  trouble(reason: string): void;
}

/** A leg of the call that is played. */
type Party = 'bridge' | 'device';

/** Over all connections of a played leg. */
export class LegTraffic {
  readonly sent: PlaybackTally = noPlaybackTally();
  readonly received: LegCounts = noLegCounts();
}

interface Flow {
  readonly frames: number;
  readonly bytes: number;
}

/** Lines for people; the counts have what goes beyond. */
const lines: Rate = { perSecond: 5, burst: 40 };
const whoWidth = 'bridge'.length;

export class CallReport implements BridgeLogger {
  readonly bridge = new LegTraffic();
  readonly device = new LegTraffic();
  readonly #context: Pick<CommandContext, 'clock' | 'output'>;
  readonly #parties: readonly Party[];
  readonly #line: ProgressLine;
  readonly #bucket: TokenBucket;
  readonly #startedMs: number;
  readonly #before = new Map<LegTraffic, { readonly sent: Flow; readonly received: Flow }>();
  #beforeMs: number;
  #hasConnected = false;

  /** `parties`: the legs that are played. */
  constructor(
    context: Pick<CommandContext, 'clock' | 'output' | 'newProgressLine'>,
    parties: readonly Party[],
  ) {
    this.#context = context;
    this.#parties = parties;
    this.#line = context.newProgressLine();
    this.#startedMs = this.#beforeMs = context.clock.monotonicMs();
    this.#bucket = fullBucket(lines, this.#startedMs);
  }

  get hasConnected(): boolean {
    return this.#hasConnected;
  }

  step(who: Party | 'call', text: string, json: object = {}): void {
    this.#show({ event: 'step', who, what: text, ...json }, who, text);
  }

  notify(event: string, json: object, text: string): void {
    this.#show({ event, who: 'bridge', ...json }, 'bridge', text);
  }

  trouble(reason: string): void {
    this.notify('trouble', { reason }, reason);
  }

  /** Device and phone are in the call of this session. */
  connected(session: string): void {
    if (this.#hasConnected) return;
    this.#hasConnected = true;
    this.step('call', 'connected', { session });
    if (this.#context.output.wantsJson) return;
    const hints = [
      ['see it in the list', reveilleCommand('calls list')],
      ['watch its pictures', reveilleCommand('calls watch')],
      ['hang up', 'Ctrl-C'],
    ] as const;
    const text = hints.map(([purpose, line]) => `  ${purpose.padEnd(20)}${line}\n`).join('');
    this.#line.above(() => this.#context.output.answer({}, `\n${text}`));
  }

  /** Once a second. */
  progress(): void {
    const { clock, output } = this.#context;
    const nowMs = clock.monotonicMs();
    const elapsedMs = Math.max(1, nowMs - this.#beforeMs);
    this.#beforeMs = nowMs;
    const figures = this.#parties.map((party) => {
      const { sent, received } = this[party];
      const flows = { sent: flowOf(sent.frames, sent), received: flowOf(received.videoFrames, received) };
      const before = this.#before.get(this[party]);
      this.#before.set(this[party], flows);
      const rates = {
        sent: rateOf(flows.sent, before?.sent, elapsedMs),
        received: rateOf(flows.received, before?.received, elapsedMs),
      };
      return { party, rates };
    });
    const json = Object.fromEntries(
      figures.map(({ party, rates }) => [party, figuresOf(this[party], rates)]),
    );
    if (output.wantsJson)
      return output.answer({ event: 'figures', seconds: this.#secondsAt(nowMs), ...json }, '');
    const texts = figures.map(({ party, rates: { sent, received } }) => {
      const { size } = this[party].sent;
      const out = size === null ? 'no video' : `${sizeInWords(size)} ${rateInWords(sent)}`;
      return `${party} sends ${out}, receives ${rateInWords(received)}`;
    });
    this.#line.show(`${this.#secondsAt(nowMs).toFixed(0)} s  ${texts.join('   ')}`);
  }

  summary(calls: number): void {
    this.#line.clear();
    const { clock, output } = this.#context;
    const seconds = this.#secondsAt(clock.monotonicMs());
    const totals = Object.fromEntries(this.#parties.map((party) => [party, figuresOf(this[party])]));
    const texts = this.#parties.map((party) => `  ${party.padEnd(whoWidth)}  ${trafficInWords(this[party])}`);
    const text = [`${counted(calls, 'call')} in ${seconds} s`, ...texts].join('\n');
    output.answer({ event: 'summary', calls, seconds, ...totals }, text);
  }

  #secondsAt(nowMs: number): number {
    return rounded((nowMs - this.#startedMs) / 1000);
  }

  #show(json: object, who: string, text: string): void {
    const { clock, output } = this.#context;
    if (!output.wantsJson && !this.#mayShow()) return;
    const at = new Date(clock.wallMs()).toISOString();
    const line = `${timeOfDay(clock.wallMs())}  ${who.padEnd(whoWidth)}  ${text}`;
    this.#line.above(() => output.answer({ at, ...json }, line));
  }

  #mayShow(): boolean {
    if (waitForToken(this.#bucket, lines, this.#context.clock.monotonicMs()) > 0) return false;
    takeToken(this.#bucket);
    return true;
  }
}

interface FlowRate {
  readonly frames_per_second: number;
  readonly bytes_per_second: number;
}

function flowOf(frames: number, { bytes }: { readonly bytes: number }): Flow {
  return { frames, bytes };
}

function rateOf(now: Flow, before: Flow = { frames: 0, bytes: 0 }, elapsedMs: number): FlowRate {
  return {
    frames_per_second: rounded(((now.frames - before.frames) * 1000) / elapsedMs),
    bytes_per_second: Math.round(((now.bytes - before.bytes) * 1000) / elapsedMs),
  };
}

function rateInWords({ frames_per_second: frames, bytes_per_second: bytes }: FlowRate): string {
  return `${frames} frames/s ${(bytes / 1000).toFixed(1)} kB/s`;
}

/** For machines; rates where they are given. */
function figuresOf(
  { sent, received }: LegTraffic,
  rates?: { readonly sent: FlowRate; readonly received: FlowRate },
): object {
  const { video } = received;
  return {
    sent: {
      frames: sent.frames,
      key_frames: sent.keyFrames,
      skipped: sent.skipped,
      size: sent.size === null ? null : wireSize(sent.size),
      audio_packets: sent.audioPackets,
      bytes: sent.bytes,
      ...rates?.sent,
    },
    received: {
      frames: received.videoFrames,
      format: video?.format ?? null,
      size: video === null ? null : wireSize(video),
      audio: Object.fromEntries(received.audio),
      bytes: received.bytes,
      messages: received.texts,
      key_frames_wanted: received.keyFramesWanted,
      ...rates?.received,
    },
  };
}

function trafficInWords({ sent, received }: LegTraffic): string {
  const { frames, keyFrames, skipped, audioPackets } = sent;
  const { video, videoFrames, keyFramesWanted } = received;
  const pictures = `${counted(frames, 'frame')} (${counted(keyFrames, 'key frame')}, ${keyFramesWanted} asked for, ${skipped} skipped)`;
  const last = video === null ? '' : ` (${video.format} ${sizeInWords(video)})`;
  return (
    `sent ${pictures}, ${counted(audioPackets, 'audio packet')}; ` +
    `received ${counted(videoFrames, 'frame')}${last}, ${soundInWords(received)}, ${(received.bytes / 1000).toFixed(0)} kB`
  );
}

function rounded(value: number): number {
  return Number(value.toFixed(1));
}

function wireSize({ width, height }: Size): string {
  return `${width}x${height}`;
}

export function sizeInWords({ width, height }: Size): string {
  return `${width}×${height}`;
}
