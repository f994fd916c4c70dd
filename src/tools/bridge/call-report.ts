/**
 * Output of a played bridge and, with `--call`, of the played device: steps, frame rates, and the totals at the end.
 */
import { PlaybackTally } from './bridge-playback.ts';
import { reveilleCommand } from '../../cli/shell/command-error.ts';
import { LegCounts } from '../simulator/leg-counts.ts';
import { LiveReport, type ReportContext } from '../simulator/live-report.ts';
import type { Size } from '../../model/call.ts';
import { counted } from '../../cli/shell/option-values.ts';

export type ReportBridgeEvent = (event: string, json: object, text: string) => void;

type Party = 'bridge' | 'device';

/** Counters of a played leg, over all of its connections. */
export class LegTraffic {
  readonly sent = new PlaybackTally();
  readonly received = new LegCounts();
}

const whoWidth = 'bridge'.length;

export class CallReport {
  readonly bridge = new LegTraffic();
  readonly device = new LegTraffic();
  readonly #context: ReportContext;
  readonly #parties: readonly Party[];
  readonly #live: LiveReport;
  readonly #before = new Map<Party, Figures>();
  #beforeMs: number;
  #hasConnected = false;

  /** `parties`: the legs that are played. */
  constructor(context: ReportContext, parties: readonly Party[]) {
    this.#context = context;
    this.#parties = parties;
    this.#live = new LiveReport(context);
    this.#beforeMs = this.#live.startedMs;
  }

  get hasConnected(): boolean {
    return this.#hasConnected;
  }

  step(who: Party | 'call', text: string, json: object = {}): void {
    this.#live.step({ event: 'step', who, what: text, ...json }, `${who.padEnd(whoWidth)}  ${text}`);
  }

  readonly reportBridgeEvent: ReportBridgeEvent = (event, json, text) =>
    this.#live.step({ event, who: 'bridge', ...json }, `${'bridge'.padEnd(whoWidth)}  ${text}`);

  /** Reports the first connected call, with hints. */
  connected(session: string): void {
    if (this.#hasConnected) return;
    this.#hasConnected = true;
    this.step('call', 'connected', { session });
    const hints = [
      ['see it in the list', reveilleCommand('calls list')],
      ['watch its pictures', reveilleCommand('calls watch')],
      ['hang up', 'Ctrl-C'],
    ] as const;
    this.#live.remark(hints.map(([purpose, line]) => `  ${purpose.padEnd(20)}${line}`).join('\n'));
  }

  progress(): void {
    const nowMs = this.#context.clock.monotonicMs();
    const elapsedS = Math.max(1, nowMs - this.#beforeMs) / 1000;
    this.#beforeMs = nowMs;
    const json: Record<string, unknown> = {};
    const texts = this.#parties.map((party) => {
      const now = figuresOf(this[party]);
      const before = this.#before.get(party);
      this.#before.set(party, now);
      const sent = withRates(now.sent, before?.sent, elapsedS);
      const received = withRates(now.received, before?.received, elapsedS);
      json[party] = { sent, received };
      const out = sent.size === null ? 'no video' : `${inWords(sent.size)} ${rateInWords(sent)}`;
      return `${party} sends ${out}, receives ${rateInWords(received)}`;
    });
    const seconds = this.#secondsAt(nowMs);
    this.#live.progress({ seconds, ...json }, `${seconds.toFixed(0)} s  ${texts.join('   ')}`);
  }

  summary(calls: number): void {
    const seconds = this.#secondsAt(this.#context.clock.monotonicMs());
    const totals = this.#parties.map((party) => [party, figuresOf(this[party])] as const);
    const texts = totals.map(([party, figures]) => `  ${party.padEnd(whoWidth)}  ${trafficInWords(figures)}`);
    const text = [`${counted(calls, 'call')} in ${seconds} s`, ...texts].join('\n');
    this.#live.summary({ calls, seconds, ...Object.fromEntries(totals) }, text);
  }

  #secondsAt(nowMs: number): number {
    return rounded((nowMs - this.#live.startedMs) / 1000);
  }
}

type Figures = ReturnType<typeof figuresOf>;

function figuresOf({ sent, received }: LegTraffic) {
  const { video } = received;
  return {
    sent: {
      frames: sent.frames,
      key_frames: sent.keyFrames,
      skipped: sent.skipped,
      size: sent.size === null ? null : wireSize(sent.size),
      audio_packets: sent.audioPackets,
      bytes: sent.bytes,
    },
    received: {
      frames: received.videoFrames,
      format: video?.format ?? null,
      size: video === null ? null : wireSize(video),
      audio: Object.fromEntries(received.audio) as Readonly<Record<string, number>>,
      bytes: received.bytes,
      messages: received.texts,
      key_frames_wanted: received.keyFramesWanted,
    },
  };
}

interface Flow {
  readonly frames: number;
  readonly bytes: number;
}

function withRates<Now extends Flow>(now: Now, before: Flow = { frames: 0, bytes: 0 }, seconds: number) {
  return {
    ...now,
    frames_per_second: rounded((now.frames - before.frames) / seconds),
    bytes_per_second: Math.round((now.bytes - before.bytes) / seconds),
  };
}

function rateInWords(flow: ReturnType<typeof withRates>): string {
  return `${flow.frames_per_second} frames/s ${(flow.bytes_per_second / 1000).toFixed(1)} kB/s`;
}

function trafficInWords({ sent, received }: Figures): string {
  const { frames, key_frames, skipped, audio_packets } = sent;
  const { format, size, key_frames_wanted } = received;
  const pictures = `${counted(frames, 'frame')} (${counted(key_frames, 'key frame')}, ${key_frames_wanted} asked for, ${skipped} skipped)`;
  const last = size === null ? '' : ` (${format} ${inWords(size)})`;
  return (
    `sent ${pictures}, ${counted(audio_packets, 'audio packet')}; ` +
    `received ${counted(received.frames, 'frame')}${last}, ${soundInWords(received.audio)}, ${(received.bytes / 1000).toFixed(0)} kB`
  );
}

/** `12 audio packets (alaw 12)`. */
function soundInWords(audio: Readonly<Record<string, number>>): string {
  const packets = Object.values(audio).reduce((sum, count) => sum + count, 0);
  const formats = Object.entries(audio).map(([format, count]) => `${format} ${count}`);
  return counted(packets, 'audio packet') + (packets === 0 ? '' : ` (${formats.join(', ')})`);
}

function rounded(value: number): number {
  return Number(value.toFixed(1));
}

function wireSize({ width, height }: Size): string {
  return `${width}x${height}`;
}

export function sizeInWords(size: Size): string {
  return inWords(wireSize(size));
}

function inWords(size: string): string {
  return size.replace('x', '×');
}
