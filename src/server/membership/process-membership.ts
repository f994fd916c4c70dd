/** One process of several of a machine, as its server has it: a keeper or a worker. Source: cluster.md, Several processes on one machine. */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { followLoggedSessions } from '../../core/devices/logged-sessions.ts';
import { SeatKeeper } from '../../cluster/ownership/keep-seats.ts';
import type { ClusterHouse } from '../../core/devices/locate-device.ts';
import type { Log } from '../../core/ports/log.ts';
import type { ApiCalls } from '../bootstrap/api.ts';
import type { House } from '../bootstrap/house.ts';
import { memberStatus, type OwnLife } from './member-status.ts';
import type { Membership, MembershipView, OwnParts } from './membership.ts';
import { processAnswers } from '../supervisor/process-answers.ts';
import { ProcessCompany, type ProcessPlace } from '../supervisor/process-company.ts';
import { ProcessLosses } from '../supervisor/process-losses.ts';
import type { ProcessRole } from '../supervisor/process-messages.ts';
import { missingProcesses, processMetrics, processRoutes } from '../supervisor/process-view.ts';
import type { Records, SharedParts } from '../bootstrap/records.ts';
import { callsAtKeeper } from '../supervisor/roles-calls.ts';

export class ProcessMembership implements Membership {
  readonly role: ProcessRole;
  readonly nodes = null;
  readonly shared: SharedParts;
  readonly #company: ProcessCompany;
  readonly #life: OwnLife;
  #losses: ProcessLosses | null = null;

  /** `node`: its name in events. */
  constructor(
    place: ProcessPlace,
    node: string,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    const { role, member, process } = place.task;
    this.role = role;
    this.#company = new ProcessCompany(place, { clock, log });
    this.shared = this.#company.shared(node);
    this.#life = { member, process, startedAtMs: clock.wallMs() };
  }

  cluster(records: Records): ClusterHouse {
    const { shared, wakeups, events } = records;
    assert(shared !== null, 'several processes share their records');
    return {
      peers: this.#company.peers,
      whereabouts: shared.whereabouts,
      recallWakeup: (appId, requestId) => Promise.resolve(wakeups.find(appId, requestId)),
      logReaches: async (sequence) => events.reaches(sequence),
    };
  }

  view(house: House, parts: () => OwnParts): MembershipView {
    const company = this.#company;
    const status = () => memberStatus(house, this.#life, parts().doors);
    const viewed = { company, own: house.metrics, status };
    return { exposition: processMetrics(viewed), routes: processRoutes(viewed) };
  }

  callsElsewhere(house: House): ApiCalls | null {
    return this.role === 'worker' ? callsAtKeeper(house, this.#company) : null;
  }

  async open(house: House, { doors, calls }: OwnParts): Promise<void> {
    const { records, directory, cluster, readiness, telemetry, watch } = house;
    assert(records.shared !== null && cluster !== null, 'several processes share their records');
    records.shared.follow(new SeatKeeper({ directory, telemetry, peers: cluster.peers }));
    followLoggedSessions(records.events, watch);
    if (this.role === 'keeper') {
      readiness.include(() => missingProcesses(this.#company));
      this.#company.onChange(() => this.#company.isStopping && readiness.set('draining'));
    }
    const status = () => memberStatus(house, this.#life, doors);
    await this.#company.open(processAnswers(house, { status, calls }));
  }

  /** Of a worker that is gone the keeper hears. */
  async endLost(house: House): Promise<void> {
    if (this.role !== 'keeper') return;
    this.#losses = new ProcessLosses(house, this.#company);
    await this.#losses.endAll();
    this.#losses.follow();
  }

  async close(): Promise<void> {
    this.#losses?.close();
    await this.#company.close();
  }
}
