/**
 * The data channels of one peer: `pictures`, a JPEG a message from this server, and `commands`, four bytes a message both
 * ways. This server opens both; one of the same label that the client opens takes its place. `source` and `camera` are as
 * `pictures`, for clients that open them. Others are closed.
 */
import type { DataChannel } from 'node-datachannel';
import { rtcChannelBacklogBytes, rtcChannelsMax } from '../../model/media/rtc-limits.ts';
import { dismiss, trySend } from './rtc-connection.ts';
import type { PictureChannel } from './rtc-peer.ts';

const ours = ['pictures', 'commands'] as const;
const labels = [...ours, 'source', 'camera'] as const;
type Label = (typeof labels)[number];
const commandBytes = 4;

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
  /** The one that was sent last: channels open behind the connection, and the client's own behind ours. */
  #command: number | null = null;
  /** Of the pictures that were taken last, where the next may not come yet. */
  readonly #sent = new Map<Label, () => void>();
  #isClosed = false;

  /** `messageBytesMax`: of what the client takes. */
  constructor(messageBytesMax: number, open: (label: string) => DataChannel, owner: PeerChannelsOwner) {
    this.#owner = owner;
    this.#messageBytesMax = messageBytesMax;
    for (const label of ours) this.#use(label, open(label));
  }

  /** The client opened it. */
  take(channel: DataChannel): void {
    this.#opened += 1;
    if (this.#opened > rtcChannelsMax) {
      dismiss(channel);
      this.#owner.tooManyChannels();
      return;
    }
    const label = labels.find((known) => known === channel.getLabel());
    if (label === undefined) return dismiss(channel);
    const replaced = this.#channels.get(label);
    this.#use(label, channel);
    replaced?.close();
    this.#drained(label);
  }

  /** `sent`: when the next may come. One that the client does not take, or that there is no channel for yet, is left out. */
  sendPicture(jpeg: Uint8Array, sent: () => void, label: PictureChannel = 'pictures'): void {
    const channel = this.#channels.get(label);
    const isSent = channel !== undefined && jpeg.length <= this.#messageBytesMax && trySend(channel, jpeg);
    if (!isSent || channel.bufferedAmount() <= rtcChannelBacklogBytes) sent();
    else this.#sent.set(label, sent);
  }

  has(label: PictureChannel): boolean {
    return this.#channels.has(label);
  }

  /** Goes out again on a channel that opens later. */
  sendCommand(command: number): void {
    this.#command = command;
    this.#sendCommand();
  }

  close(): void {
    this.#isClosed = true;
    for (const channel of this.#channels.values()) channel.close();
    for (const label of labels) this.#drained(label);
  }

  #use(label: Label, channel: DataChannel): void {
    this.#channels.set(label, channel);
    channel.onMessage((message) => this.#received(label, message));
    // The library frees a channel behind this call, and only if somebody asked for it.
    channel.onClosed(() => this.#closed(label, channel));
    if (label === 'commands') {
      if (channel.isOpen()) this.#sendCommand();
      else channel.onOpen(() => this.#sendCommand());
      return;
    }
    channel.setBufferedAmountLowThreshold(rtcChannelBacklogBytes);
    channel.onBufferedAmountLow(() => this.#drained(label));
  }

  #sendCommand(): void {
    const channel = this.#channels.get('commands');
    if (this.#command === null || channel === undefined) return;
    const bytes = Buffer.alloc(commandBytes);
    bytes.writeUInt32LE(this.#command);
    trySend(channel, bytes);
  }

  #received(label: Label, message: string | Buffer | ArrayBuffer): void {
    if (this.#isClosed) return;
    const bytes = typeof message === 'string' ? Buffer.from(message) : Buffer.from(message as ArrayBuffer);
    if (!this.#owner.takesMessage(bytes.length) || label !== 'commands' || bytes.length !== commandBytes)
      return;
    this.#owner.command(bytes.readUInt32LE());
  }

  #closed(label: Label, channel: DataChannel): void {
    if (this.#channels.get(label) !== channel) return;
    this.#channels.delete(label);
    channel.close();
    this.#drained(label);
  }

  #drained(label: Label): void {
    const sent = this.#sent.get(label);
    this.#sent.delete(label);
    sent?.();
  }
}
