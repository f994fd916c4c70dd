/** A single look at NATS: whether it can be reached with the given options, and has JetStream. */
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { messageOf } from '../../lib/result.ts';
import { connectionOptions, shownServers, type NatsAccess } from './nats-options.ts';

const answerMsMax = 2000;

/** Resolves to the server that answered; rejects, within some seconds, with a sentence that holds no secret. */
export async function probeNats(access: NatsAccess): Promise<string> {
  const options = { ...connectionOptions(access, '_INBOX'), reconnect: false };
  const connection = await connect(options).catch((error: unknown) => {
    throw new Error(`no connection to ${shownServers(access.url)}: ${messageOf(error)}`);
  });
  try {
    const server = connection.getServer();
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout: answerMsMax });
    await manager.getAccountInfo().catch((error: unknown) => {
      throw new Error(`${server} answers without JetStream: ${messageOf(error)}`);
    });
    return server;
  } finally {
    await connection.close();
  }
}
