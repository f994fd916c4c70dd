/**
 * A connection whose call is at another media process of the server: it is passed on to that one, bytes both ways and
 * unread, so that a client needs one address for all of them. Only who was admitted comes so far. It counts as a leg here,
 * and is one there. Source: calls-and-media.md, The media process.
 */
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Cancel } from '../../lib/clock.ts';
import { legAdmissionMsMax, legLingerMsMax, legSilenceMsMax } from '../../model/limits.ts';
import type { LegPlace } from '../../core/ports/leg-service.ts';
import type { LegConnection, MediaListenerContext } from './listener-context.ts';
import type { UpgradeRequest } from './upgrade-request.ts';

export class ForwardedLeg implements LegConnection {
  readonly #request: UpgradeRequest;
  readonly #context: MediaListenerContext;
  readonly #there: Socket;
  readonly #giveUp: Cancel;
  #stopLingering: Cancel = () => undefined;
  #isOver = false;

  /** It is among the legs of the context from then on. `failed`: the process is not reached, and nothing was answered. */
  constructor(request: UpgradeRequest, place: LegPlace, context: MediaListenerContext, failed: () => void) {
    this.#request = request;
    this.#context = context;
    this.#there = connectTo(place, () => this.#passOn());
    this.#giveUp = context.clock.after(legAdmissionMsMax, () => this.#there.destroy());
    context.legs.add('', this);
    context.forwarded.add(this.#there);
    request.request.socket.once('close', () => this.#clientGone());
    this.#there.on('error', () => undefined);
    this.#there.once('close', () => {
      context.forwarded.delete(this.#there);
      if (!this.#leave()) return;
      // The client is still asking where the process was not reached at all.
      if (request.isAsking) failed();
      else this.#linger();
    });
  }

  /** The process that has the call asks its legs for a sign of life, and TCP keep-alive asks both ends. */
  heartbeat(): void {}

  drop(): void {
    this.#leave();
    this.#there.destroy();
    this.#request.cut();
  }

  #passOn(): void {
    this.#giveUp();
    this.#there.setKeepAlive(true, legSilenceMsMax).setNoDelay(true);
    this.#request.forward(this.#there);
  }

  /** The process that has the call has hung up. A client that does not read the rest in time is cut. */
  #linger(): void {
    this.#context.leaving.add(this);
    this.#stopLingering = this.#context.clock.after(legLingerMsMax, () => this.#request.cut());
    this.#request.request.socket.destroySoon();
  }

  #clientGone(): void {
    this.#context.leaving.delete(this);
    this.#stopLingering();
    this.drop();
  }

  /** False: it has left before. */
  #leave(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#giveUp();
    this.#context.legs.delete('', this);
    return true;
  }
}

/** Destroyed where the process shows another certificate than the server knows of it. */
function connectTo({ host, port, certificate }: LegPlace, connected: () => void): Socket {
  if (certificate === null) return connectPlain({ host, port }, connected);
  // By its certificate it is known, whatever name it has and whoever signed it.
  const socket: TLSSocket = connectTls({ host, port, rejectUnauthorized: false }, () => {
    if (socket.getPeerCertificate().fingerprint256 === certificate) connected();
    else socket.destroy();
  });
  return socket;
}
