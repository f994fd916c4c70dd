/**
 * A connection from its upgrade to its login: the challenge, the login message, and the refusals. It owns the socket
 * until the login is accepted, then hands it to a SignalingConnection and is gone. Lifecycle: proving -> over.
 * Source: signal-wire.md.
 */
import { remoteAddress } from '../../lib/connections/address-key.ts';
import { generateSessionKey } from '../../lib/session-key.ts';
import type { WheelEntry } from '../../lib/deadline-wheel.ts';
import { signalHandshakePingsMax, signalMessageBytesMax } from '../../model/limits.ts';
import type { SignalLogin, SignalRefusal } from '../../model/signal.ts';
import type { SessionTicket } from '../../core/ports/device-sessions.ts';
import { signalCloses, type SignalClose, encodeChallenge } from '../../protocol/signal/server-message.ts';
import { decodeControllerMessage } from '../../protocol/signal/controller-message.ts';
import {
  dismiss,
  sendText,
  type FrameSocket,
  type SocketEnd,
  type SocketOwner,
  type SocketTag,
} from './web-socket-app.ts';
import type { PendingConnection } from '../devices/device-connections.ts';
import { type SignalListenerContext, SignalingConnection } from './signaling-connection.ts';

const refusals: Readonly<Record<SignalRefusal, SignalClose>> = {
  timeout: signalCloses.loginTimeout,
  malformed: signalCloses.malformed,
  denied: signalCloses.denied,
  busy: signalCloses.busy,
  flood: signalCloses.flood,
};

export class Handshake implements PendingConnection, SocketOwner {
  deadlineMs: number;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  readonly #socket: FrameSocket;
  readonly #tag: SocketTag;
  readonly #context: SignalListenerContext;
  readonly #sessionKey = generateSessionKey();
  #isOver = false;
  #pings = 0;

  /** Takes a socket that was just upgraded; `start` sets it going. */
  constructor(socket: FrameSocket, tag: SocketTag, context: SignalListenerContext) {
    this.#socket = socket;
    this.#tag = tag;
    this.#context = context;
    this.deadlineMs = context.clock.monotonicMs() + context.settings.login_deadline_ms;
  }

  start(): void {
    const { pending, census, unproved, clock } = this.#context;
    pending.add(this);
    census.upgraded();
    unproved.add(this.#tag.address, this, clock.monotonicMs());
    this.#tag.owner = this;
    sendText(this.#socket, encodeChallenge(this.#sessionKey));
  }

  received(bytes: Uint8Array, isBinary: boolean): void {
    if (this.#isOver) return;
    if (bytes.length > signalMessageBytesMax) {
      this.#refuse('malformed', signalCloses.tooLarge);
      return;
    }
    const message = decodeControllerMessage(bytes, isBinary, 'login');
    if (message.kind === 'login') this.#logIn(message.login);
    else if (message.kind === 'bye') this.#dismiss(signalCloses.bye);
    else this.#refuse('malformed');
  }

  /** The library answers; before the login it says nothing of the device. */
  pinged(): void {
    this.#pings += 1;
    if (this.#pings > signalHandshakePingsMax) this.#refuse('flood');
  }

  ponged(): void {
    this.pinged();
  }

  gone(reason: SocketEnd): void {
    if (this.#isOver) return;
    this.#leave();
    if (reason === 'malformed') this.#context.telemetry.signalLogin('malformed');
  }

  expire(): void {
    this.#refuse('timeout');
  }

  turnAway(): void {
    this.#refuse('busy', signalCloses.draining);
  }

  evict(): void {
    this.#context.telemetry.signalLogin('busy');
    this.drop();
  }

  drop(): void {
    this.#leave();
    this.#socket.close();
  }

  #logIn(login: SignalLogin): void {
    const connection = new SignalingConnection(this.#socket, this.#context);
    const answer = this.#admit(login, connection);
    if (answer === 'busy' || answer === 'denied') {
      this.#refuse(answer);
      return;
    }
    this.#context.telemetry.signalLogin('accepted');
    this.#leave();
    this.#tag.owner = connection;
    connection.enter(answer);
  }

  #admit(login: SignalLogin, connection: SignalingConnection): SessionTicket | 'denied' | 'busy' {
    const { sessions } = this.#context;
    try {
      const hasRoom = this.#context.hasRoom();
      return sessions.admit(login, this.#sessionKey, connection, hasRoom, () => remoteAddress(this.#socket));
    } catch (error) {
      this.#context.reportFailure(error);
      return 'busy';
    }
  }

  #refuse(reason: SignalRefusal, close: SignalClose = refusals[reason]): void {
    if (this.#isOver) return;
    this.#context.telemetry.signalLogin(reason);
    this.#dismiss(close);
  }

  #dismiss(close: SignalClose): void {
    this.#leave();
    this.#context.census.dismissed();
    dismiss(this.#socket, close);
  }

  #leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { pending, census, unproved } = this.#context;
    pending.remove(this);
    census.concluded();
    unproved.delete(this.#tag.address, this);
    this.#tag.address = '';
  }
}
