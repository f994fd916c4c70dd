/**
 * One process of `reveille serve --processes N`. It loads its code before the supervisor assigns its task, and reports why
 * it cannot start to the supervisor, which logs that. When the supervisor is gone it ends its sessions and stops at once. A worker
 * hands over to its successor, another process that is the same member, as a server alone does, by way of the supervisor.
 * Source: cluster.md, Several processes on one machine; docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import { assert } from '../../lib/assert.ts';
import type { BoundSocket } from '../../lib/bound-sockets.ts';
import type { SleepCounts, SleepLoan } from '../../edge/sleep-sockets.ts';
import { processStopMsMax } from '../../model/limits.ts';
import {
  followSupervisor,
  reportToSupervisor,
  type FollowedOrder,
} from '../../server/supervisor/process-channel.ts';
import type { LentPort } from '../../server/supervisor/worker-set.ts';
import type { StartServer } from '../../server/bootstrap/server.ts';
import { SupervisedPredecessorLine } from '../../server/upgrade/supervised-lines.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { SupervisedServer } from './supervised-server.ts';

export async function serveSupervised(context: CommandContext): Promise<void> {
  const { startServer } = await import('../../server/bootstrap/server.ts');
  new Supervised(context, startServer).follow();
}

class Supervised {
  readonly #context: CommandContext;
  readonly #startServer: StartServer;
  /** Null: the supervisor has not assigned a task yet. */
  #process: SupervisedServer | null = null;
  readonly #predecessor = new SupervisedPredecessorLine();
  #isEnding = false;

  constructor(context: CommandContext, startServer: StartServer) {
    this.#context = context;
    this.#startServer = startServer;
  }

  follow(): void {
    followSupervisor(
      (order, socket) => this.#follow(order, socket),
      () => this.#alone(),
    );
  }

  #follow(order: FollowedOrder, socket: BoundSocket | null): void {
    const one = this.#process;
    switch (order.kind) {
      case 'begin': {
        const { task } = order;
        this.#process = new SupervisedServer(this.#context, this.#startServer, order);
        return this.#process.start(task.isSuccessor ? this.#predecessor : null);
      }
      case 'worker-set':
        return one?.changeWorkerSet(order.workerSet);
      case 'heartbeat':
        return reportToSupervisor({ kind: 'heartbeat', sleep: this.#sleepCounts });
      case 'reload':
        return void one?.serving().then((server) => server?.reload());
      case 'upgrade-signalled':
        return void one?.serving().then((server) => server?.signalUpgrade());
      case 'hand-over':
        return void one?.handOver();
      case 'from-successor':
        return one?.successor?.reported(order.report);
      case 'successor-ended':
        return one?.successor?.ended(order.how);
      case 'order-passed-on':
        return one?.successor?.passedOn();
      case 'from-predecessor':
        return this.#predecessor.ordered(order.order, socket);
      case 'sleep-socket':
        if (socket !== null) this.#borrow({ ...order, socket });
        return;
      case 'sleep-sockets-back':
        return this.#lentPort.sockets.giveBack();
      case 'stop':
        return this.#end(false);
    }
  }

  #borrow(loan: SleepLoan): void {
    const { number } = loan;
    this.#lentPort.sockets.borrow(
      loan,
      () => reportToSupervisor({ kind: 'sleep-socket-taken', number }),
      (unused) => reportToSupervisor({ kind: 'sleep-socket-back', number, unused, sleep: this.#sleepCounts }),
    );
  }

  #alone(): void {
    this.#process?.logging.log.error({}, 'the supervisor is gone; this process stops');
    this.#predecessor.ended();
    this.#process?.successor?.ended('the supervisor is gone');
    this.#end(true);
  }

  get #sleepCounts(): SleepCounts {
    return this.#process?.sleepCounts ?? { open: 0, taken: 0 };
  }

  get #lentPort(): LentPort {
    const port = this.#process?.sleepPort ?? null;
    assert(port !== null, 'a worker that is up has a sleep port');
    return port;
  }

  #end(isHurried: boolean): void {
    if (isHurried) setTimeout(() => process.exit(1), processStopMsMax).unref();
    if (this.#isEnding) return;
    this.#isEnding = true;
    const stopping = this.#process?.stop(isHurried) ?? Promise.resolve();
    void stopping.then(
      () => process.exit(0),
      () => process.exit(1),
    );
  }
}
