/** The part of a server in its upgrade, by the one before it and by the one after it. Source: docs/adr/0027-upgrade-without-a-closed-socket.md. */
import type { Socket } from 'node:net';
import { assert } from '../../lib/assert.ts';
import type { SessionId } from '../../model/ids.ts';
import type { BoundSocket } from '../../lib/bound-sockets.ts';
import type { RelayTarget } from '../../gateways/api/request-relay.ts';
import type { Gateways } from '../bootstrap/gateways.ts';
import { importLate, recordUpgrade } from '../bootstrap/unasked-changes.ts';
import { AnswerMemories } from './answer-memories.ts';
import { ServerHandOver, type HandOverDeps, type TakeOver } from './server-hand-over.ts';
import type { UpgradeControl } from './upgrade-routes.ts';

export interface ServerUpgradeDeps extends Omit<HandOverDeps, 'gateways' | 'listeners'> {
  readonly gateways: Gateways | null;
  readonly upgrade: UpgradeControl;
  /** Null: there was no server before this one. */
  readonly takeOver: TakeOver | null;
}

export class ServerUpgrade {
  readonly #deps: ServerUpgradeDeps;
  #adopted = 0;

  constructor(deps: ServerUpgradeDeps) {
    this.#deps = deps;
  }

  get isSuccessor(): boolean {
    return this.#deps.takeOver !== null;
  }

  /** The listening sockets of the sleep port; none: they are to be made. */
  get sleepSockets(): readonly BoundSocket[] {
    return this.#deps.takeOver?.sleepSockets ?? [];
  }

  /** Tells the sessions that another process had. */
  goesOn(): (session: SessionId) => boolean {
    const sessions = new Set(this.#deps.takeOver?.sessions.map(({ moved }) => moved.sessionId));
    return (session) => sessions.has(session);
  }

  /** What another server had is this one's. Before anybody can log in. Rejects when the store cannot be read. */
  async takeUp(): Promise<void> {
    const { context, gateways, takeOver } = this.#deps;
    if (takeOver === null || gateways === null) return;
    const memories = new AnswerMemories(context);
    for (const answer of takeOver.answers) memories.keep(answer);
    const { sessions } = takeOver;
    this.#adopted = await gateways.adopt(sessions);
    context.log.info(
      { sessions: this.#adopted, of: sessions.length },
      'sleep sessions go on in this process',
    );
  }

  /** The server serves: what a start does before, and devices were not to wait for. */
  serves(): void {
    const { context, controlPlane } = this.#deps;
    if (!this.isSuccessor) return;
    // Who has lost the right to be here may not have been told yet.
    context.deviceReview.begin();
    if (controlPlane !== null) void importLate(context, controlPlane);
  }

  /** A running server, for who upgrades it. */
  upgradable(listeners: HandOverDeps['listeners']) {
    return {
      /** Sleep sessions of the server before this one that go on here. */
      adopted: this.#adopted,
      /** SIGUSR2, of a whole server: begins an upgrade. Never rejects; a refusal is logged. */
      signalUpgrade: () => this.#signalUpgrade(),
      /** The state that the next server begins with. Called once, and only on a whole server. */
      handOver: () => new ServerHandOver({ ...this.#deps, gateways: this.#gateways, listeners }),
      /** A sleep connection that the server before this one has accepted and not touched. */
      takeConnection: (socket: Socket) => this.#gateways.sleepListener.take(socket),
      /** Answers a request that came to the server before this one. */
      relayed: ((request) => this.#gateways.api.answer(request)) as RelayTarget,
    };
  }

  get #gateways(): Gateways {
    const { gateways } = this.#deps;
    assert(gateways !== null, 'devices and callers reach this process');
    return gateways;
  }

  async #signalUpgrade(): Promise<void> {
    const { context, controlPlane, upgrade } = this.#deps;
    const begin = (): string | null => {
      const begun = upgrade.begin();
      return begun.ok ? null : begun.error;
    };
    if (controlPlane !== null) await recordUpgrade(controlPlane.audit, context, begin);
  }
}
