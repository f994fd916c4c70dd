/**
 * One end of the link to the media process: the channel with its messages, heartbeats both ways, and a sentence about
 * its end. What the messages mean is its owner's. Source: calls-and-media.md, The media process.
 */
import type { Duplex } from 'node:stream';
import { Channel, ChannelQueue, type ChannelEnd } from '../../lib/channel.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import type { LoopProgress } from '../../telemetry/loop-progress.ts';
import {
  linkBacklogBytesMax,
  linkCongestedBytes,
  linkHeartbeatMs,
  linkMessageBytesMax,
  linkSilenceMsMax,
  mediaStartMsMax,
} from '../../model/limits.ts';
import {
  decodeLinkGreeting,
  decodeLinkMessage,
  encodeLinkMessage,
  linkVersion,
  type ReadMessage,
  type ServerMessage,
} from '../../protocol/media-link/link-message.ts';

export interface LinkOwner<Received> {
  readonly clock: Clock;
  /** Begins the sentences about it. */
  readonly peer: 'the server' | 'the media process';
  /** It says hello, and then waits for the peer's as long as it takes, without a heartbeat. */
  readonly isSpare?: boolean | undefined;
  readonly progress: LoopProgress;
  readonly read: ReadMessage<Received>;
  /** The end of a sentence about what the peer did wrong, which cuts the link; null: nothing. */
  received(message: Received): string | null;
  /** Each `linkHeartbeatMs` while it is open. */
  heartbeat(): void;
  /** What waited to be sent has gone. */
  drained?(): void;
  /** Once. `fault`: a sentence; null: one of the two hung up in order. */
  ended(fault: string | null): void;
}

const channelBounds = { messageBytesMax: linkMessageBytesMax, endMsMax: linkSilenceMsMax } as const;

export class Link<Sent extends object, Received> {
  readonly #owner: LinkOwner<Received>;
  readonly #queue = new ChannelQueue(linkBacklogBytesMax);
  readonly #channel: Channel;
  readonly #stopHeartbeats: Cancel;
  readonly #stopSigns: Cancel;
  /** Messages put into the queue so far. */
  #sent = 0;
  /** Heartbeats since the last message came: by our own time, which stands still when this process does. */
  #silentHeartbeats = 0;
  #isHeartbeatDue = false;

  constructor(stream: Duplex, owner: LinkOwner<Received>) {
    const { clock, read, progress } = owner;
    this.#owner = owner;
    this.#stopHeartbeats = clock.every(linkHeartbeatMs, () => this.#heartbeatSoon());
    this.#stopSigns = progress.onSign(() => this.#showProgress());
    this.#channel = new Channel(stream, this.#queue, {
      ...channelBounds,
      clock,
      greeted: (payload) => this.#received(decodeLinkGreeting(payload, read)),
      received: (payload) => this.#received(decodeLinkMessage(payload, read)),
      drained: () => owner.drained?.(),
      ended: (how) => {
        this.#stopHeartbeats();
        this.#stopSigns();
        owner.ended(faultOf(owner.peer, how));
      },
    });
    this.#channel.flow();
  }

  /** So much waits to be sent that what can wait has to, until `drained`. */
  get isCongested(): boolean {
    return this.#channel.waitingBytes > linkCongestedBytes;
  }

  /** Does nothing when the link is at its end. Never throws. */
  send(message: Sent | { readonly kind: 'heartbeat' }): void {
    if (!this.#channel.isOpen) return;
    const payload = encodeLinkMessage(message);
    const bytes = this.#channel.waitingBytes + payload.length;
    this.#sent += 1;
    if (bytes <= linkBacklogBytesMax && this.#queue.put(this.#sent, payload)) this.#channel.flushSoon();
    else this.#channel.cut(`reads too slowly: ${bytes} bytes wait for it`);
  }

  /** Sends what waits, receives nothing any more and hangs up. Resolves when the link has ended. */
  end(): Promise<void> {
    return this.#channel.end();
  }

  #received(message: Result<Received, string>): string | null {
    this.#silentHeartbeats = 0;
    return message.ok ? this.#owner.received(message.value) : message.error;
  }

  /** Behind the stream's turn: what came while this process stood still is read before the peer is taken for dead. */
  #heartbeatSoon(): void {
    if (this.#isHeartbeatDue) return;
    this.#isHeartbeatDue = true;
    setImmediate(() => {
      this.#isHeartbeatDue = false;
      this.#heartbeat();
    });
  }

  get #isJudged(): boolean {
    const { isOpen, isGreeted } = this.#channel;
    return isOpen && (isGreeted || this.#owner.isSpare !== true);
  }

  /** The peer counts heartbeats while this end is in a turn of the loop that lasts. */
  #showProgress(): void {
    if (!this.#isJudged) return;
    this.send({ kind: 'heartbeat' });
    this.#channel.flush();
  }

  #heartbeat(): void {
    if (!this.#isJudged) return;
    const { isGreeted } = this.#channel;
    this.#silentHeartbeats += 1;
    const silentMs = this.#silentHeartbeats * linkHeartbeatMs;
    if (silentMs >= (isGreeted ? linkSilenceMsMax : mediaStartMsMax)) {
      this.#channel.cut(`was silent for ${silentMs} ms`);
      return;
    }
    this.send({ kind: 'heartbeat' });
    this.#owner.heartbeat();
  }
}

/** A sentence about the end of the link; null: one of the two hung up in order. */
function faultOf(peer: LinkOwner<unknown>['peer'], how: ChannelEnd): string | null {
  switch (how.kind) {
    case 'closed':
      return null;
    case 'truncated':
      return `${peer} hung up in the middle of a message`;
    case 'fault':
      return `${peer} ${how.fault}`;
    case 'broken':
      return `the link to ${peer} broke: ${how.error.message}`;
  }
}

/** Sends a media process away that is not wanted: one sentence, then the end of its link. Never throws. */
export function declineLink(stream: Duplex, clock: Clock, sentence: string): void {
  const declined: ServerMessage = { kind: 'declined', version: linkVersion, sentence };
  const nothing = (): null => null;
  const owner = { ...channelBounds, clock, greeted: nothing, received: nothing, ended: nothing };
  void new Channel(stream, new ChannelQueue(0), owner).end(encodeLinkMessage(declined));
}
