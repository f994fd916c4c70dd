/**
 * The output of a played bridge, and of its call's device where that is played as well: steps, the flow of pictures, and the
 * sums at the end.
 */
import { noPlaybackTally, type PlaybackTally } from './bridge-playback.ts';
import { reveilleCommand } from '../../cli/shell/command-error.ts';
import { type LegCounts, noLegCounts } from '../simulator/leg-counts.ts';
import { LiveReport, type ReportContext } from '../simulator/live-report.ts';
import type { Size } from '../../model/call.ts';
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

const whoWidth = 'bridge'.length;

export class CallReport implements BridgeLogger {
  readonly bridge = new LegTraffic();
  readonly device = new LegTraffic();
  readonly #context: ReportContext;
  readonly #parties: readonly Party[];
  readonly #live: LiveReport;
  readonly #before = new Map<LegTraffic, { readonly sent: Flow; readonly received: Flow }>();
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

  notify(event: string, json: object, text: string): void {
    this.#live.step({ event, who: 'bridge', ...json }, `${'bridge'.padEnd(whoWidth)}  ${text}`);
  }

  trouble(reason: string): void {
    this.notify('trouble', { reason }, reason);
  }

  /** Device and phone are in the call of this session. */
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

  /** Once a second. */
  progress(): void {
    const nowMs = this.#context.clock.monotonicMs();
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
    const texts = figures.map(({ party, rates: { sent, received } }) => {
      const { size } = this[party].sent;
      const out = size === null ? 'no video' : `${sizeInWords(size)} ${rateInWords(sent)}`;
      return `${party} sends ${out}, receives ${rateInWords(received)}`;
    });
    const seconds = this.#secondsAt(nowMs);
    this.#live.progress({ seconds, ...json }, `${seconds.toFixed(0)} s  ${texts.join('   ')}`);
  }

  summary(calls: number): void {
    const seconds = this.#secondsAt(this.#context.clock.monotonicMs());
    const totals = Object.fromEntries(this.#parties.map((party) => [party, figuresOf(this[party])]));
    const texts = this.#parties.map((party) => `  ${party.padEnd(whoWidth)}  ${trafficInWords(this[party])}`);
    const text = [`${counted(calls, 'call')} in ${seconds} s`, ...texts].join('\n');
    this.#live.summary({ calls, seconds, ...totals }, text);
  }

  #secondsAt(nowMs: number): number {
    return rounded((nowMs - this.#live.startedMs) / 1000);
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

/** `12 audio packets (alaw)`, or of each format how many. */
function soundInWords({ audioPackets, audio }: LegCounts): string {
  const formats = Array.from(audio, ([format, count]) => (audio.size === 1 ? format : `${count} ${format}`));
  return `${counted(audioPackets, 'audio packet')}${audio.size === 0 ? '' : ` (${formats.join(', ')})`}`;
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
