/**
 * The data channels of one peer: `pictures`, one JPEG per message from this server, and `commands`, four bytes per message both ways.
 * This server opens both; a channel of the same label that the client opens replaces it. `source` and `camera` work like `pictures`, for
 * clients that open them. Other channels are closed.
 */
import type { DataChannel } from 'node-datachannel';
import { rtcChannelBacklogBytes, rtcChannelsMax } from '../../model/media/rtc-limits.ts';
import { closeUnwanted, trySend } from './rtc-connection.ts';
import type { PictureChannel } from './rtc-peer.ts';

const ours = ['pictures', 'commands'] as const;
const labels = [...ours, 'source', 'camera'] as const;
type Label = (typeof labels)[number];
const commandBytes = 4;

export interface PeerChannelsOwner {
  command(command: number): void;
  /** Called for a message of any channel before it is read. False: it exceeds the rate, and is not read. */
  acceptMessage(bytes: number): boolean;
  tooManyChannels(): void;
}

export class PeerChannels {
  readonly #owner: PeerChannelsOwner;
  readonly #messageBytesMax: number;
  readonly #channels = new Map<Label, DataChannel>();
  #opened = 0;
  /** The last command: its channel may open after the connection, and the client's own channel after ours. */
  #command: number | null = null;
  /** Callbacks of the last pictures whose channel is backlogged. */
  readonly #sent = new Map<Label, () => void>();
  #isClosed = false;

  /** `messageBytesMax`: maximum that the client accepts. */
  constructor(messageBytesMax: number, open: (label: string) => DataChannel, owner: PeerChannelsOwner) {
    this.#owner = owner;
    this.#messageBytesMax = messageBytesMax;
    for (const label of ours) this.#use(label, open(label));
  }

  add(channel: DataChannel): void {
    this.#opened += 1;
    if (this.#opened > rtcChannelsMax) {
      closeUnwanted(channel);
      this.#owner.tooManyChannels();
      return;
    }
    const label = labels.find((known) => known === channel.getLabel());
    if (label === undefined) return closeUnwanted(channel);
    const replaced = this.#channels.get(label);
    this.#use(label, channel);
    replaced?.close();
    this.#drained(label);
  }

  /** `sent`: called when the next picture may come. A picture that is too large for the client, or has no channel yet, is dropped. */
  sendPicture(jpeg: Uint8Array, sent: () => void, label: PictureChannel = 'pictures'): void {
    const channel = this.#channels.get(label);
    const isSent = channel !== undefined && jpeg.length <= this.#messageBytesMax && trySend(channel, jpeg);
    if (!isSent || channel.bufferedAmount() <= rtcChannelBacklogBytes) sent();
    else this.#sent.set(label, sent);
  }

  has(label: PictureChannel): boolean {
    return this.#channels.has(label);
  }

  /** Sent again on a channel that opens later. */
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
    // The library frees a channel after this call, and only if a handler is set.
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
    if (!this.#owner.acceptMessage(bytes.length) || label !== 'commands' || bytes.length !== commandBytes)
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
