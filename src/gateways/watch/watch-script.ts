/** The script of the page that shows a call: it asks for the state of the call once a second, and opens its pictures. */

export const watchScript = `
'use strict';
const askEveryMs = 1000;
const openEveryAsks = 5;
const unseenAsksMax = 2;

const main = document.querySelector('main');
const { key } = main.dataset;
delete main.dataset.key;
history.replaceState(null, '', '/watch');

const pictures = [...document.querySelectorAll('img')];
const closed = new Set(pictures);
for (const picture of pictures) picture.addEventListener('error', () => closed.add(picture));

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

function showPictures() {
  for (const picture of pictures) {
    const isShown = picture.naturalWidth > 0 && !closed.has(picture);
    const note = document.querySelector('[data-missing="' + picture.id + '"]');
    note.hidden = isShown;
    note.textContent = closed.has(picture)
      ? 'No picture: two may watch a call at once, and the media process has to be there.'
      : 'No picture yet.';
  }
}

let unseenAsks = 0;
let asksSinceOpened = openEveryAsks;

async function openPictures() {
  asksSinceOpened = 0;
  const answer = await ask('/watch/pictures');
  if (!answer.ok) return;
  const links = await answer.json();
  for (const picture of closed) picture.src = links[picture.id];
  closed.clear();
  unseenAsks = 0;
}

/* A media process that starts anew has forgotten who watches, and the browser says nothing of it. */
function noteViewers(view) {
  unseenAsks = view.viewers > 0 ? 0 : unseenAsks + 1;
  if (unseenAsks >= unseenAsksMax) for (const picture of pictures) closed.add(picture);
}

function stop(state, news) {
  show('state', state);
  show('news', news);
  showLeg('device', false);
  showLeg('bridge', false);
  for (const note of document.querySelectorAll('[data-missing]')) note.hidden = true;
  document.body.classList.add('over');
}

/* False: there is nothing more to ask. */
async function look() {
  const answer = await ask('/watch/view');
  if (answer.status === 401) {
    for (const picture of pictures) picture.removeAttribute('src');
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
    noteViewers(view);
    showView(view);
  }
  show('news', view ? '' : 'The media process knows nothing of this call yet.');
  return true;
}

async function watch() {
  for (;;) {
    asksSinceOpened += 1;
    try {
      if (closed.size > 0 && asksSinceOpened > openEveryAsks) await openPictures();
      if (!(await look())) return;
    } catch {
      show('news', 'The server does not answer. It is asked again.');
    }
    showPictures();
    await new Promise((resolve) => setTimeout(resolve, askEveryMs));
  }
}
void watch();
`;
