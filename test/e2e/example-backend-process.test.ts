/** The example backend as `npm run example:backend` starts it: its environment, its log on standard output, its end. */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { phoneCall, pushSecrets, Steps } from '../support/example-backend.ts';
import { SimulatedMessagingApp } from '../support/simulated-messaging-app.ts';
import { startTestServer, testCredentials } from '../support/test-server.ts';
import { checkout, readFromRoot } from '../support/checkout.ts';
import { readBlocks } from '../support/document-blocks.ts';

const environment = {
  API_ACCESS_KEY_ID: testCredentials.all.accessKeyId,
  API_SECRET_KEY: testCredentials.all.secretKey,
  API_APP_ID: testCredentials.all.appId,
  PUSH_TOKEN: pushSecrets.token,
  PUSH_AES_KEY: pushSecrets.encodingAesKey,
  MSG_APP_ID: pushSecrets.appId,
  PUSH_LISTEN: '127.0.0.1:0',
};

/** The very command of package.json. */
function start(t: TestContext, env: Readonly<Record<string, string>>): ChildProcess {
  const { scripts } = JSON.parse(readFromRoot('package.json')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const [node = '', ...args] = (scripts['example:backend'] ?? '').split(' ');
  assert.equal(node, 'node');
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, args, { cwd: fileURLToPath(checkout), env: { PATH, ...env } });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

function stepsOf(child: ChildProcess): Steps {
  const steps = new Steps();
  assert.ok(child.stdout);
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { step, ...fields } = JSON.parse(line) as Record<string, string>;
    steps.add(String(step), fields);
  });
  return steps;
}

function endOf(child: ChildProcess): Promise<{ code: number | null; stderr: string }> {
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => (stderr += piece));
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ code, stderr }));
  });
}

test('started with what it needs it takes a call, and ends in order when it is told to', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const controller = await server.controller('TESTDEVICE01', { autoAcknowledge: true });
  const child = start(t, { ...environment, API_ORIGIN: `http://127.0.0.1:${server.ports.api}` });
  const [steps, end] = [stepsOf(child), endOf(child)];
  const { port } = await steps.until(({ step }) => step === 'backend.started');
  const app = new SimulatedMessagingApp({ url: `http://127.0.0.1:${String(port)}/push`, ...pushSecrets });
  assert.equal((await app.verify('an echo')).text, 'an echo');
  const call = phoneCall('TESTDEVICE01');
  assert.deepEqual(await app.push(call), { status: 200, text: '{"errcode":0,"errmsg":"ok"}' });
  assert.equal((await controller.nextMessage()).name, 'msga_join_voip_room');
  const { at, device } = await steps.until(({ step }) => step === 'call.delivered');
  assert.match(String(at), /^\d{4}-\d\d-\d\dT/);
  assert.equal(device, 'TESTDEVICE01');
  child.kill('SIGTERM');
  assert.deepEqual(await end, { code: 0, stderr: '' });
  assert.equal(steps.all.at(-1)?.step, 'backend.stopped');
  assert.doesNotMatch(JSON.stringify(steps.all), /planted|eyJ/);
  await controller.close();
});

const absent = spawnSync('openssl', ['version']).status !== 0;

test('the push by hand of the README calls a device', { skip: absent && 'no openssl here' }, async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const controller = await server.controller('TESTDEVICE01', { autoAcknowledge: true });
  const child = start(t, { ...environment, API_ORIGIN: `http://127.0.0.1:${server.ports.api}` });
  const steps = stepsOf(child);
  const { port } = await steps.until(({ step }) => step === 'backend.started');
  const { PATH = '' } = process.env;
  const env = {
    PATH,
    ...environment,
    DEVICE_ID: 'TESTDEVICE01',
    PUSH_URL: `http://127.0.0.1:${String(port)}/push`,
  };
  const shell = spawn('sh', ['-eu'], { env });
  shell.stdin.end(pushByHand());
  let printed = '';
  shell.stdout.setEncoding('utf8').on('data', (piece: string) => (printed += piece));
  assert.deepEqual(await endOf(shell), { code: 0, stderr: '' });
  assert.equal(printed, '200 {"errcode":0,"errmsg":"ok"}\n');
  const { name, payload } = await controller.nextMessage();
  assert.equal(name, 'msga_join_voip_room');
  assert.match(String(payload['peer_id']), /x_msg_room_id=by-hand-\d+&/);
  await controller.close();
});

function pushByHand(): string {
  const blocks = readBlocks(readFromRoot('docs/examples/backend/README.md'));
  const [block, ...others] = blocks.filter(({ text }) => text.includes('openssl enc'));
  assert.ok(block !== undefined && others.length === 0);
  return block.text;
}

test('started without what it needs it says what is missing and how it is used, and ends with 2', async (t) => {
  const { PUSH_TOKEN: _, ...rest } = environment;
  const { code, stderr } = await endOf(start(t, rest));
  assert.equal(code, 2);
  assert.match(stderr, /^PUSH_TOKEN is missing\.\n\nEnvironment:\n/);
  assert.ok(!stderr.includes(environment.API_SECRET_KEY));
});

test('started where somebody else listens it ends with 1', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const { code, stderr } = await endOf(
    start(t, { ...environment, PUSH_LISTEN: `127.0.0.1:${server.ports.ops}` }),
  );
  assert.equal(code, 1);
  assert.match(stderr, /EADDRINUSE/);
});
