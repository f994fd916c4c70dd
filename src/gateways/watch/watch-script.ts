/** The script of the page that shows a call: it asks for the state of the call once a second, and shows its pictures. */
import { liveScript } from './live-script.ts';
import { stageScript } from './stage-script.ts';

export const watchScript = `
'use strict';
${liveScript}
${stageScript}
const askEveryMs = 1000;

const main = document.querySelector('main');
const { key } = main.dataset;
delete main.dataset.key;
history.replaceState(null, '', '/watch');

const placeOf = (name) => document.querySelector('[data-show="' + name + '"]');
const show = (name, text) => {
  const place = placeOf(name);
  if (place !== null && place.textContent !== text) place.textContent = text;
};
const ask = (path) => fetch(path, { headers: { Authorization: 'Bearer ' + key } });
const count = (number) => number.toLocaleString('en');

function showStream(name, stream) {
  const { format, width, height, frames_per_second: frames, bytes_per_second: bytes } = stream ?? {};
  show(name + ' format', format ?? '–');
  show(name + ' size', width ? width + '×' + height : '–');
  show(name + ' rate', stream ? frames.toFixed(1) + ' fps' : '–');
  show(name + ' bits', stream ? count(Math.round((bytes * 8) / 1000)) + ' kbit/s' : '–');
}

function showTimes(name, times) {
  show(name, times ? times.p50.toFixed(1) + ' / ' + times.p99.toFixed(1) + ' ms' : '–');
}

function showFrames(frames) {
  let total = 0;
  let dropped = 0;
  for (const row of document.querySelectorAll('tr[data-result]')) {
    const frameCount = frames[row.dataset.result];
    row.hidden = frameCount === 0;
    row.querySelector('.count').textContent = count(frameCount);
    total += frameCount;
    if (row.className === 'drop') dropped += frameCount;
  }
  placeOf('none').hidden = total > 0;
  show('dropped', count(dropped) + ' dropped');
  placeOf('dropped').classList.toggle('bad', dropped > 0);
}

function showLeg(name, isThere) {
  show(name, name + (isThere ? ' connected' : ' not there'));
  placeOf(name).classList.toggle('good', isThere);
}

function showView(view) {
  showStream('source', view.source);
  showStream('output', view.output);
  showFrames(view.frames);
  showTimes('frame', view.frame_ms);
  showTimes('work', view.work_ms);
  show('rebuilds', count(view.rebuilds));
  document.querySelector('[data-figure="rebuilds"]').hidden = view.rebuilds === 0;
  show('keys', count(view.key_frames_asked));
  show('viewers', count(view.viewers));
}

function stop(state, news) {
  show('state', state);
  show('news', news);
  showLeg('device', false);
  showLeg('bridge', false);
  closePictures();
}

/* False: there is nothing more to ask. */
async function look() {
  const answer = await ask('/watch/view');
  if (answer.status === 401) {
    for (const { image } of stages) image.removeAttribute('src');
    stop('not known', 'This page was open for as long as it may be: ask for another by reveille calls watch.');
    return false;
  }
  if (!answer.ok) throw new Error(answer.statusText);
  const { call, view, end_reason: endReason } = await answer.json();
  if (!call) {
    stop('ended', 'The call has ended' + (endReason ? ': ' + endReason : '') + '.');
    return false;
  }
  show('state', call.state);
  showLeg('device', call.legs.device);
  showLeg('bridge', call.legs.bridge);
  if (view) {
    noteView(view);
    showView(view);
  }
  show('news', view ? '' : 'The media process knows nothing of this call yet.');
  return true;
}

async function watch() {
  for (;;) {
    try {
      openWhenDue();
      if (!(await look())) return;
    } catch {
      show('news', 'The server does not answer. It is asked again.');
    }
    await showWay();
    await new Promise((resolve) => setTimeout(resolve, askEveryMs));
  }
}
void watch();
`;
