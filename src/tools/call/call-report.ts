/**
 * The output of `simulate-call`: each step of the call as a line, what to type meanwhile, how its pictures flow in one line
 * that stays, and at the end what there was. With `--json` each is an object with its `event`.
 */
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { reveilleCommand } from '../../cli/shell/command-error.ts';
import type { ProgressLine } from '../../cli/shell/output.ts';
import { noPlaybackTally } from '../bridge/bridge-playback.ts';
import { counted } from '../../cli/shell/option-values.ts';
import { sizeInWords, videoJson, type BridgeLogger } from '../bridge/bridge-report.ts';
import { noLegCounts, soundInWords } from '../simulator/leg-counts.ts';

type Who = 'call' | 'device' | 'bridge';
const whoWidth = 8;

export class CallReport implements BridgeLogger {
  /** What the played bridge has sent, and what has come to the device. */
  readonly sent = noPlaybackTally();
  readonly received = noLegCounts();
  /** What the device has sent, and what has come to the played bridge. */
  readonly deviceSent = noPlaybackTally();
  readonly heard = noLegCounts();
  readonly #context: Pick<CommandContext, 'clock' | 'output'>;
  readonly #line: ProgressLine;
  #connectedMs: number | null = null;
  #before = { sent: 0, sentBytes: 0, received: 0, receivedBytes: 0, atMs: 0 };

  constructor(context: Pick<CommandContext, 'clock' | 'output' | 'newProgressLine'>) {
    this.#context = context;
    this.#line = context.newProgressLine();
  }

  get hasConnected(): boolean {
    return this.#connectedMs !== null;
  }

  step(who: Who, text: string, json: object = {}): void {
    this.#say({ event: 'step', who, what: text, ...json }, `${who.padEnd(whoWidth)}${text}`);
  }

  /** Device and phone are in the call of this session. */
  connected(session: string): void {
    if (this.hasConnected) return;
    this.#connectedMs = this.#context.clock.monotonicMs();
    this.#before.atMs = this.#connectedMs;
    const hints = [
      ['see it in the list', reveilleCommand('calls list')],
      ['watch its pictures', reveilleCommand('calls watch')],
      ['hang up', 'Ctrl-C'],
    ] as const;
    const lines = hints.map(([purpose, line]) => `  ${purpose.padEnd(20)}${line}`);
    this.step('call', 'connected', { session });
    if (!this.#context.output.wantsJson) this.#say({}, ['', ...lines, ''].join('\n'));
  }

  /** Of the played bridge. Its other steps are those of any bridge, and only machines are told of them. */
  notify(event: string, json: object, text: string): void {
    if (event === 'playing' || event === 'playing_tone') this.step('bridge', text, json);
    else if (this.#context.output.wantsJson) this.#say({ event, who: 'bridge', ...json }, text);
  }

  trouble(reason: string): void {
    this.step('bridge', reason);
  }

  /** Once a second. */
  progress(): void {
    if (this.#connectedMs === null) return;
    const { clock, output } = this.#context;
    const { sent, received } = this;
    const atMs = clock.monotonicMs();
    const elapsedMs = Math.max(1, atMs - this.#before.atMs);
    const rate = (count: number, before: number): number => ((count - before) * 1000) / elapsedMs;
    const rates = {
      sent_per_second: rounded(rate(sent.frames, this.#before.sent)),
      sent_bytes_per_second: Math.round(rate(sent.bytes, this.#before.sentBytes)),
      received_per_second: rounded(rate(received.videoFrames, this.#before.received)),
      received_bytes_per_second: Math.round(rate(received.bytes, this.#before.receivedBytes)),
    };
    this.#before = {
      sent: sent.frames,
      sentBytes: sent.bytes,
      received: received.videoFrames,
      receivedBytes: received.bytes,
      atMs,
    };
    if (output.wantsJson) return output.answer({ event: 'figures', ...rates, ...this.#totals(atMs) }, '');
    const seconds = Math.floor((atMs - this.#connectedMs) / 1000);
    const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    const phone =
      sent.size === null
        ? ''
        : `phone sends ${sizeInWords(sent.size)}, ${flow(rates.sent_per_second, rates.sent_bytes_per_second)}   `;
    const device = flow(rates.received_per_second, rates.received_bytes_per_second);
    this.#line.show(`${time}  ${phone}device receives ${device}${this.#uplinkInWords()}`);
  }

  summary(): void {
    this.#line.clear();
    const totals = this.#totals(this.#context.clock.monotonicMs());
    const { seconds, received_frames: frames, received_bytes: bytes } = totals;
    const text = `${seconds} s connected, ${counted(frames, 'picture')} to the device (${(bytes / 1000).toFixed(0)} kB), ${soundInWords(this.received)}${this.#uplinkInWords()}${this.#soundUpInWords()}`;
    this.#context.output.answer(
      { event: 'summary', ...totals },
      this.hasConnected ? text : 'never connected',
    );
  }

  #uplinkInWords(): string {
    const { deviceSent, heard } = this;
    if (deviceSent.frames === 0) return '';
    const came = heard.video === null ? 'nothing' : `${heard.videoFrames} of ${heard.video.format}`;
    return `   it has sent ${deviceSent.frames}, bridge received ${came}`;
  }

  #soundUpInWords(): string {
    if (this.deviceSent.audioPackets === 0) return '';
    const sent = `   it has sent ${counted(this.deviceSent.audioPackets, 'audio packet')}`;
    // Another bridge may have the call.
    return this.heard.audioPackets === 0 ? sent : `${sent}, bridge received ${soundInWords(this.heard)}`;
  }

  #totals(atMs: number) {
    return {
      seconds: this.#connectedMs === null ? 0 : rounded((atMs - this.#connectedMs) / 1000),
      sent_frames: this.sent.frames,
      sent_bytes: this.sent.bytes,
      received_frames: this.received.videoFrames,
      received_bytes: this.received.bytes,
      received_audio: Object.fromEntries(this.received.audio),
      device_sent_frames: this.deviceSent.frames,
      device_sent_audio_packets: this.deviceSent.audioPackets,
      bridge_received: {
        frames: this.heard.videoFrames,
        ...videoJson(this.heard.video),
        audio: Object.fromEntries(this.heard.audio),
      },
    };
  }

  #say(json: object, text: string): void {
    const at = new Date(this.#context.clock.wallMs()).toISOString();
    this.#line.above(() => this.#context.output.answer({ at, ...json }, text));
  }
}

function flow(framesPerSecond: number, bytesPerSecond: number): string {
  return `${framesPerSecond.toFixed(1)} frames/s, ${(bytesPerSecond / 1000).toFixed(0)} kB/s`;
}

function rounded(value: number): number {
  return Number(value.toFixed(1));
}
