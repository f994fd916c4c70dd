/** aedes, an MQTT broker on Node, with default settings: the usual way to keep sleeping devices connected. */
import { Aedes } from 'aedes';
import { answerAsPeer, type PeerPorts } from './answer-as-peer.ts';
import { listenForDevices } from './device-listener.ts';

async function listen(): Promise<PeerPorts> {
  const broker = await Aedes.createBroker();
  const devicePort = await listenForDevices((socket) => {
    broker.handle(socket);
  });
  return { httpPort: 0, devicePort };
}

answerAsPeer(listen);
