import type { MemberId } from '../../src/model/cluster.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeNetwork, type FakePeers } from '../support/fake-peers.ts';
import { peersConformance, type PeersNetwork } from './peers.ts';

function standIns(): PeersNetwork {
  const clock = new DrivenClock();
  const network = new FakeNetwork(clock);
  let made = 0;
  return {
    clock,
    join: (host) => Promise.resolve(network.join(`node-1/${(made += 1)}@life` as MemberId, host)),
    end(peers) {
      (peers as FakePeers).close();
      return Promise.resolve();
    },
  };
}

peersConformance('stand-ins', standIns);
