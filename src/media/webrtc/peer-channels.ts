/**
 * The data channels of one peer: `pictures`, a JPEG a message from this server, and `commands`, two bytes a message both
 * ways. This server opens both; one of the same label that the client opens takes its place. Others are closed.
 */
import type { DataChannel } from 'node-datachannel';
import { rtcChannelBacklogBytes, rtcChannelsMax } from '../../model/rtc-limits.ts';

const labels = ['pictures', 'commands'] as const;
type Label = (typeof labels)[number];
const commandBytes = 2;

export interface PeerChannelsOwner {
  command(command: number): void;
  /** A message of any channel, before it is read. False: it is one too many, and is not read. */
  takesMessage(bytes: number): boolean;
  tooManyChannels(): void;
}

export class PeerChannels {
  readonly #owner: PeerChannelsOwner;
  readonly #messageBytesMax: number;
  readonly #channels = new Map<Label, DataChannel>();
  #opened = 0;
  /** Of the picture that was taken last; null: the next may come. */
  #sent: (() => void) | null = null;
  #isClosed = false;

  /** `messageBytesMax`: of what the client takes. */
  constructor(messageBytesMax: number, open: (label: string) => DataChannel, owner: PeerChannelsOwner) {
    this.#owner = owner;
    this.#messageBytesMax = messageBytesMax;
    for (const label of labels) this.#use(label, open(label));
  }

  /** The client opened it. */
  take(channel: DataChannel): void {
    this.#opened += 1;
    if (this.#opened > rtcChannelsMax) {
      this.#owner.tooManyChannels();
      return;
    }
    const label = labels.find((known) => known === channel.getLabel());
    if (label === undefined) {
      channel.onClosed(() => undefined);
      channel.close();
      return;
    }
    const replaced = this.#channels.get(label);
    this.#use(label, channel);
    replaced?.close();
  }

  /** `sent`: when the next may come. One that the client does not take, or that there is no channel for yet, is left out. */
  sendPicture(jpeg: Uint8Array, sent: () => void): void {
    const channel = this.#channels.get('pictures');
    const isSent =
      jpeg.length <= this.#messageBytesMax && channel?.isOpen() === true && channel.sendMessageBinary(jpeg);
    if (!isSent || channel.bufferedAmount() <= rtcChannelBacklogBytes) sent();
    else this.#sent = sent;
  }

  sendCommand(command: number): void {
    const channel = this.#channels.get('commands');
    if (channel?.isOpen() !== true) return;
    const bytes = Buffer.alloc(commandBytes);
    bytes.writeUInt16BE(command);
    channel.sendMessageBinary(bytes);
  }

  close(): void {
    this.#isClosed = true;
    for (const channel of this.#channels.values()) channel.close();
    this.#drained();
  }

  #use(label: Label, channel: DataChannel): void {
    this.#channels.set(label, channel);
    channel.onMessage((message) => this.#received(label, message));
    // The library frees a channel behind this call, and only if somebody asked for it.
    channel.onClosed(() => this.#closed(label, channel));
    if (label !== 'pictures') return;
    channel.setBufferedAmountLowThreshold(rtcChannelBacklogBytes);
    channel.onBufferedAmountLow(() => this.#drained());
  }

  #received(label: Label, message: string | Buffer | ArrayBuffer): void {
    if (this.#isClosed) return;
    const bytes = typeof message === 'string' ? Buffer.from(message) : Buffer.from(message as ArrayBuffer);
    if (!this.#owner.takesMessage(bytes.length) || label !== 'commands' || bytes.length !== commandBytes)
      return;
    this.#owner.command(bytes.readUInt16BE());
  }

  #closed(label: Label, channel: DataChannel): void {
    if (this.#channels.get(label) !== channel) return;
    this.#channels.delete(label);
    channel.close();
    if (label === 'pictures') this.#drained();
  }

  #drained(): void {
    const sent = this.#sent;
    this.#sent = null;
    sent?.();
  }
}
