'use strict';
// The browser's part of the page. It sends the input to the program that serves the page,
// and shows the answer. All text is set as text. The timeline comes from the program as SVG
// and is checked element by element.

const byId = id => document.getElementById(id);
const tabs = ['check', 'run', 'curves'];
const longestLink = 50000; // characters
const largestState = 4 << 20; // bytes
const largestManifest = 262144; // bytes that the program accepts
const largestScript = 65536;

let state = {tab: 'check', manifest: '', job: '', trials: undefined, script: undefined, step: 0, curves: {}};
let examples = [];
let presets = [];
let latest = {}; // the latest answer for each tab

// node creates an element. Properties with a dash, and those listed below, become
// attributes.
function node(name, properties = {}, ...children) {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(properties)) {
		if (value === undefined) continue;
		if (key.includes('-') || key === 'role' || key === 'for' || key === 'scope') e.setAttribute(key, value);
		else e[key] = value;
	}
	e.append(...children.filter(c => c !== null && c !== undefined));
	return e;
}

// whole and decimal parse a number for the program. whole limits it to the program's
// bounds. decimal returns -1, which the program refuses, for any other text.
const mostWhole = 2147483647;
const whole = text => Math.min(Math.max(Math.trunc(Number(text)) || 0, 0), mostWhole);
const decimal = text => text.trim() && Number.isFinite(Number(text)) ? Number(text) : -1;

const fill = (id, ...children) => byId(id).replaceChildren(...children.filter(c => c !== null));

// ---- pictures

const rules = {createHTML: text => text};
const trusted = window.trustedTypes ? trustedTypes.createPolicy('page', rules) : rules;
const drawn = new Set(['svg', 'title', 'desc', 'pattern', 'path', 'rect', 'text']);
const drawnAs = new Set(['xmlns', 'viewBox', 'role', 'aria-labelledby', 'class', 'id', 'font-family', 'x', 'y', 'width', 'height', 'd', 'patternUnits']);
const sheets = new Map(); // by the id of the picture's place

// picture shows a picture of the program in place. The page's policy admits its style only
// as a separate sheet.
function picture(place, p) {
	if (!p) {
		place.replaceChildren();
		return;
	}
	const root = new DOMParser().parseFromString(trusted.createHTML(p.svg), 'image/svg+xml').documentElement;
	for (const e of [root, ...root.querySelectorAll('*')]) {
		if (!drawn.has(e.localName) || [...e.attributes].some(a => !drawnAs.has(a.name))) throw new Error('a picture with ' + e.localName);
	}
	const sheet = new CSSStyleSheet();
	sheet.replaceSync(p.css);
	sheets.set(place.id, sheet);
	document.adoptedStyleSheets = [...sheets.values()];
	place.replaceChildren(document.importNode(root, true));
}

// ---- requests

const paths = {check: 'api/check', run: 'api/run', curves: 'api/curve'};
let working = false; // a request is being answered
let waiting = false; // another one follows it
let pending = 0; // timer of the next request
let settled = []; // called once everything is shown

// question returns the request of a tab. Texts are cut to one character more than the
// program accepts, which refuses them.
function question(tab) {
	const manifest = state.manifest.slice(0, largestManifest + 1);
	switch (tab) {
	case 'check': return {manifest, job: state.job, trials: state.trials};
	case 'run': return {manifest, job: state.job, script: state.script?.slice(0, largestScript + 1), step: state.step, width: width('panel-run')};
	default: return {...state.curves, width: width('charts')};
	}
}

async function ask(tab) {
	const answer = await fetch(paths[tab], {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(question(tab))});
	if (!answer.ok) throw new Error(await answer.text());
	return answer.json();
}

// changed asks for a new view after the delay.
function changed(delay = 150) {
	busy(true);
	clearTimeout(pending);
	pending = setTimeout(show, delay);
}

// busy marks whether the page has more to show.
function busy(is) {
	if (is) document.documentElement.dataset.busy = 'yes';
	else delete document.documentElement.dataset.busy;
}

function width(id) {
	return Math.max((byId(id).clientWidth || document.body.clientWidth) - 4, 320);
}

// show asks for a view of the state. While a request is being answered, only the last one
// waits. The promise resolves once everything is shown.
function show() {
	clearTimeout(pending);
	pending = 0;
	selectTab(state.tab);
	waiting = true;
	busy(true);
	work();
	return new Promise(done => settled.push(done));
}

async function work() {
	if (working) return;
	working = true;
	while (waiting) {
		waiting = false;
		const tab = state.tab;
		try {
			const view = await ask(tab);
			// Outdated views are dropped, except those of curves, which follow their sliders.
			if (!waiting || tab === 'curves' && state.tab === 'curves') present(tab, view);
		} catch (err) {
			const gone = err instanceof TypeError;
			notice(gone ? 'The program restart page does not answer any more. Start it again; the address of this page keeps your input.' : err.message);
		}
	}
	working = false;
	if (pending) return;
	busy(false);
	settled.forEach(done => done());
	settled = [];
}

function present(tab, view) {
	notice('');
	latest[tab] = view;
	if (tab === 'check') showCheck(view);
	if (tab === 'run') showRun(view);
	if (tab === 'curves') showCurves(view);
	writeLink();
}

function notice(text) {
	byId('notice').hidden = !text;
	byId('notice').textContent = text || '';
}

function summary(text) {
	if (byId('summary').textContent !== text) byId('summary').textContent = text;
}

function selectTab(tab) {
	for (const t of tabs) {
		const button = byId('tab-' + t);
		button.setAttribute('aria-selected', String(t === tab));
		button.tabIndex = t === tab ? 0 : -1;
		byId('panel-' + t).hidden = t !== tab;
	}
	byId('input').hidden = tab === 'curves';
	byId('columns').classList.toggle('two', tab !== 'curves');
}

// fillForms writes the state into the permanent fields.
function fillForms() {
	byId('manifest').value = state.manifest;
	byId('script').value = state.script ?? '';
	const c = state.curves;
	byId('reduce').checked = Boolean(c.reduce);
	byId('allowMax').checked = Boolean(c.allowMax);
	byId('nodeMax').value = c.max ?? '';
	byId('example').value = String(examples.findIndex(e => e.text === state.manifest));
	trialShape = policyShape = triedContainers = jobShape = '';
	numberLines();
}

// ---- line numbers

// Beside each field are the numbers of its visible lines only, because a text may have very
// many lines.
let numbered = []; // functions that write a field's numbers in the next frame

function numberLines() { numbered.forEach(write => write()); }

// lineHeight returns the actual line height of a field, which is less than its style's by a
// fraction of a pixel.
function lineHeight(field, lines) {
	const style = getComputedStyle(field);
	if (field.scrollHeight <= field.clientHeight) return parseFloat(style.lineHeight);
	return (field.scrollHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom)) / lines;
}

// withLimit refuses a text that is longer than the program reads, before the browser lays it
// out, which takes long.
function withLimit(field, most) {
	const given = (event, data) => {
		const size = (data?.getData('text') ?? '').length;
		const kept = field.value.length - (event.type === 'paste' ? field.selectionEnd - field.selectionStart : 0);
		if (size + kept <= most) return;
		event.preventDefault();
		notice(`This text has ${(size + kept).toLocaleString('en')} characters; the page reads at most ${most.toLocaleString('en')}. The command restart check reads files of up to 16 MiB.`);
	};
	field.addEventListener('paste', event => given(event, event.clipboardData));
	field.addEventListener('drop', event => given(event, event.dataTransfer));
}

function withNumbers(field) {
	const place = field.parentNode.querySelector('.numbers');
	let text = null, lines = 1, due = 0;
	const write = () => {
		due = 0;
		if (field.value !== text) {
			text = field.value;
			lines = 1;
			for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
			place.style.minWidth = Math.max(String(lines).length, 2) + 1 + 'ch'; // before measuring the field, which takes long for many lines
		}
		const height = lineHeight(field, lines);
		const first = Math.floor(field.scrollTop / height);
		const shown = Math.min(lines - first, Math.ceil(field.clientHeight / height) + 1);
		place.textContent = Array.from({length: Math.max(shown, 0)}, (_, i) => first + i + 1).join('\n');
		place.style.lineHeight = height + 'px';
		place.style.transform = `translateY(${first * height - field.scrollTop}px)`;
	};
	const soon = () => { due ||= requestAnimationFrame(write); };
	numbered.push(soon);
	field.addEventListener('input', soon);
	field.addEventListener('scroll', soon);
	new ResizeObserver(soon).observe(field);
}

// ---- the link

function base64url(bytes) {
	let text = '';
	for (let i = 0; i < bytes.length; i += 4096) text += String.fromCharCode(...bytes.subarray(i, i + 4096));
	return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

async function pack(text) {
	const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
	return '1' + base64url(new Uint8Array(await new Response(packed).arrayBuffer()));
}

async function unpack(link) {
	if (link[0] !== '1') throw new Error('unknown version');
	const bytes = Uint8Array.from(atob(link.slice(1).replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));
	const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
	const parts = [];
	for (let size = 0; ;) {
		const {done, value} = await reader.read();
		if (done) return new Blob(parts).text();
		if ((size += value.length) > largestState) throw new Error('too long');
		parts.push(value);
	}
}

let written = ''; // fragment
let writing = 0;

async function writeLink() {
	const turn = ++writing;
	const link = state.manifest.length > largestManifest ? '' : '#' + await pack(JSON.stringify(state));
	if (turn !== writing) return;
	written = link.length > longestLink ? '' : link;
	history.replaceState(null, '', written || location.pathname + location.search);
	byId('copy').disabled = !written;
	byId('copied').textContent = written ? '' : 'Too long for a link.';
}

const damaged = 'The link is damaged and cannot be shown.';

// readLink shows the state of the address, and resolves to whether it has. It takes no
// field of another type, since anybody can make a link.
async function readLink() {
	const link = location.hash.slice(1);
	if (!link || location.hash === written) return false;
	try {
		const given = JSON.parse(await unpack(decodeURIComponent(link)));
		const text = value => typeof value === 'string' ? value : '';
		state = {
			tab: tabs.includes(given.tab) ? given.tab : 'check',
			manifest: text(given.manifest),
			job: text(given.job),
			trials: Array.isArray(given.trials) ? given.trials : undefined,
			script: typeof given.script === 'string' ? given.script : undefined,
			step: whole(given.step),
			curves: given.curves !== null && typeof given.curves === 'object' ? given.curves : {},
		};
	} catch (err) {
		notice(damaged);
		return false;
	}
	fillForms();
	await show();
	return true;
}

// ---- parts of a view

function lineButton(line, field) {
	if (!line) return null;
	return node('button', {type: 'button', className: 'line', 'aria-label': 'Go to line ' + line, onclick: () => {
		const lines = field.value.split('\n');
		const from = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
		field.focus();
		field.setSelectionRange(from, from + (lines[line - 1] ?? '').length);
		field.scrollTop = Math.max(0, (line - 4) * lineHeight(field, lines.length));
	}}, 'line ' + line);
}

function remarks(title, list, field) {
	if (!list || !list.length) return [];
	return [node('h2', {}, title), remarkList(list, field)];
}

function remarkList(list, field) {
	return node('ul', {className: 'remarks'}, ...list.map(r =>
		node('li', {className: r.kind}, node('b', {}, r.kind), lineButton(r.line, field), ' ', node('span', {className: 'text'}, r.text))));
}

function pairs(caption, head, rows) {
	if (!rows || !rows.length) return null;
	return node('table', {}, node('caption', {}, caption),
		head ? node('thead', {}, node('tr', {}, ...head.map(h => h ? node('th', {scope: 'col'}, h) : node('td')))) : null,
		node('tbody', {}, ...rows.map(r => node('tr', {}, node('th', {scope: 'row'}, r[0]), ...r.slice(1).map(c => node('td', {}, c))))));
}

// ---- Check

function showCheck(view) {
	summary(view.summary);
	fill('remarks', ...remarks('The file', view.remarks, byId('manifest')));
	fill('objects', ...(view.objects ?? []).flatMap(o => [
		node('h2', {}, o.title),
		o.remarks ? remarkList(o.remarks, byId('manifest')) : node('p', {}, 'Nothing found.'),
		o.worst ? node('p', {className: 'worst'}, node('b', {}, 'Worst case'), ' ', o.worst) : null,
	]).filter(e => e));
	byId('not-judged').textContent = view.notJudged ?? '';
	showJobs(view);
	const able = !view.noJob;
	byId('trials').hidden = byId('trial-add').hidden = !able;
	byId('trials-hint').textContent = able ? 'Say how a pod of ' + view.job + ' ends, and see how the Job takes it.' : view.noJob;
	if (able) showTrials(view);
	fill('spec', view.spec ? node('details', {}, node('summary', {}, 'What decides about restarts, with the defaults of the API server'), node('pre', {tabIndex: 0}, view.spec)) : null);
}

let jobShape = ''; // of the current choice of Jobs

// showJobs lets one choose among several Jobs.
function showJobs(view) {
	const jobs = view.jobs ?? [];
	byId('job-row').hidden = jobs.length < 2;
	if (jobShape !== jobs.join('\n')) {
		jobShape = jobs.join('\n');
		fill('job', ...jobs.map(name => node('option', {value: name}, name)));
	}
	if (jobs.length > 1) byId('job').value = jobs.includes(state.job) ? state.job : view.job ?? jobs[0];
}

let trialShape = ''; // of the current forms

let triedContainers = ''; // of the current pods; '' for any

function showTrials(job) {
	const containers = JSON.stringify(job.containers);
	const others = state.trials && triedContainers && containers !== triedContainers;
	triedContainers = containers;
	if (others) { // the entered trials are for other containers
		state.trials = undefined;
		show();
		return;
	}
	const tried = job.trials ?? [];
	const shape = JSON.stringify([job.containers, tried.length]);
	if (shape !== trialShape) {
		trialShape = shape;
		fill('trials', ...tried.map((t, i) => trialForm(t.trial, i, job.containers)));
	}
	tried.forEach((t, i) => byId('tried-' + i).replaceChildren(...trialResult(t)));
	byId('trial-add').disabled = tried.length >= 50;
}

// trials returns the trials to edit, which are the suggestions by default.
function trials() {
	state.trials ??= (latest.check.trials ?? []).map(t => t.trial);
	return state.trials;
}

function trialForm(trial, i, containers) {
	const entry = (label, value, set, properties = {}) => {
		const input = node('input', {size: 5, value, autocomplete: 'off', ...properties});
		input.addEventListener('input', () => { set(trials()[i], input.value); changed(); });
		return node('label', {}, label + ' ', input);
	};
	const counts = {type: 'number', min: 0, max: mostWhole};
	return node('fieldset', {className: 'trial'}, node('legend', {}, 'Pod ' + (i + 1)),
		node('div', {className: 'row'},
			...containers.map(name => entry('exit code of ' + name, trial.exits?.[name] ?? '', (t, v) => { t.exits = {...t.exits, [name]: v}; }, {inputMode: 'numeric'})),
			entry('index', trial.index, (t, v) => { t.index = whole(v); }, counts),
			entry('counted failures before', trial.failures, (t, v) => { t.failures = whole(v); }, counts),
			entry('ignored failures before', trial.ignored, (t, v) => { t.ignored = whole(v); }, counts),
			entry('conditions', trial.conditions, (t, v) => { t.conditions = v; }, {size: 18, placeholder: 'DisruptionTarget'}),
			node('button', {type: 'button', 'aria-label': 'Remove pod ' + (i + 1), onclick: () => { trials().splice(i, 1); trialShape = ''; changed(0); byId('trial-add').focus(); }}, 'Remove')),
		node('div', {id: 'tried-' + i, className: 'tried'}));
}

const capital = text => text[0].toUpperCase() + text.slice(1);

function trialResult(t) {
	if (t.mistake) return [node('p', {className: 'error'}, node('b', {}, 'error'), ' ', t.mistake)];
	return [
		node('p', {}, node('strong', {}, capital(t.decides)), t.counts ? ': ' + t.counts + '.' : '.', t.next ? ' ' + capital(t.next) + '.' : ''),
		t.rules ? node('ul', {}, ...t.rules.map(r => node('li', {className: r.matched ? 'matched' : ''}, `rule ${r.rule} (${r.action}): ${r.why}`))) : null,
	].filter(e => e);
}

// ---- Run

function showRun(s) {
	summary(s.summary);
	if (document.activeElement !== byId('script')) byId('script').value = s.script;
	numberLines();
	fill('wrong', ...remarks('Mistakes in the outcomes', s.wrong, byId('script')));
	const slider = byId('step');
	slider.max = Math.max(s.steps, 1);
	slider.value = s.step;
	slider.disabled = s.steps < 2;
	slider.setAttribute('aria-valuetext', `step ${s.step} of ${s.steps}, after ${s.at}`);
	byId('step-text').textContent = s.steps ? `${s.step} of ${s.steps}, after ${s.at}` : '';
	byId('step-first').disabled = byId('step-back').disabled = s.step <= 1;
	byId('step-next').disabled = byId('step-last').disabled = s.step >= s.steps;
	fill('lines', s.lines ? node('ul', {}, ...s.lines.map(l => node('li', {}, l))) : null,
		s.notes ? node('p', {}, s.notes.join('; ')) : null);
	picture(byId('run-picture'), s.picture);
	byId('run-picture').hidden = !s.picture;
	fill('status', s.status ? node('h2', {}, 'Status') : null, s.status ? node('pre', {tabIndex: 0}, s.status) : null);
}

function step(n) {
	const last = latest.run.steps;
	n = Math.min(Math.max(n, 1), last);
	state.step = n === last ? 0 : n;
	show();
}

// current returns the requested step.
const current = () => state.step || latest.run.steps;

// ---- Curves

const ladder = ['1ms', '10ms', '100ms', '200ms', '500ms', '1s', '2s', '5s', '10s', '20s', '30s', '1m', '2m', '5m', '10m', '15m', '30m', '1h', '3h', '12h', '24h'];
const units = {ms: 1e-3, s: 1, m: 60, h: 3600};

function toSeconds(text) {
	let total = 0, found = false;
	for (const [, n, unit] of text.matchAll(/([\d.]+)(ms|s|m|h)/g)) { total += Number(n) * units[unit]; found = true; }
	return found ? total : NaN;
}

// nearest returns the position of a duration on the slider.
function nearest(text) {
	if (text === 'never') return ladder.length - 1;
	const want = Math.log(Math.max(toSeconds(text), 1e-4));
	let best = 0;
	ladder.forEach((rung, i) => {
		if (Math.abs(Math.log(toSeconds(rung)) - want) < Math.abs(Math.log(toSeconds(ladder[best])) - want)) best = i;
	});
	return best;
}

// slider creates a slider and a field for the same value.
function slider(label, value, set, range) {
	const name = label.replace(/^.*: /, '');
	const bar = node('input', {type: 'range', 'aria-label': label, ...(range ?? {min: 0, max: ladder.length - 1})});
	const field = node('input', {value, size: 6, autocomplete: 'off', 'aria-label': label + ', exactly'});
	const place = () => { bar.value = range ? field.value : nearest(field.value); bar.setAttribute('aria-valuetext', field.value || 'not set'); };
	place();
	bar.addEventListener('input', () => { field.value = range ? bar.value : ladder[bar.value]; bar.setAttribute('aria-valuetext', field.value); set(field.value); changed(50); });
	field.addEventListener('input', () => { place(); set(field.value); changed(); });
	return node('div', {className: 'slider'}, node('span', {'aria-hidden': 'true'}, name), bar, field);
}

let policyShape = '';

// curves returns the settings to edit.
function curves() {
	if (!state.curves.policies) {
		const {width, ...settings} = latest.curves.settings;
		state.curves = settings;
	}
	return state.curves;
}

function showCurves(c) {
	const settings = c.settings;
	summary(c.summary);
	presets = c.presets;
	const shape = String(settings.policies.length);
	if (shape !== policyShape) {
		policyShape = shape;
		fill('policies', ...settings.policies.map(policyForm));
		fill('shared', node('legend', {}, 'Pods'),
			slider('run length', settings.run, v => { curves().run = v; }),
			slider('pods', settings.pods, v => { curves().pods = whole(v); }, {min: 1, max: 500}),
			slider('requests', settings.requests, v => { curves().requests = whole(v); }, {min: 1, max: 50}),
			slider('until', settings.window, v => { curves().window = v; }),
			node('small', {}, 'requests: to the API server, for each restart'));
	}
	byId('policy-add').disabled = byId('node-add').disabled = settings.policies.length >= 4;
	byId('node-add').disabled ||= !c.node;
	fill('node-notes', node('p', {}, c.nodeText ? 'Delays of ' + c.nodeText + '.' : ''),
		c.notes ? node('ul', {}, ...c.notes.map(n => node('li', {className: n.warning ? 'warning' : ''},
			n.warning ? node('b', {}, 'warning') : null, `${n.field} ${n.value}: ${n.reason}`))) : null);
	const head = c.table ? c.table[0] : null;
	fill('curves-table', c.wrong ? node('ul', {className: 'remarks'}, ...c.wrong.map(w => node('li', {className: 'error'}, node('b', {}, 'error'),
		(w.policy >= 0 ? 'curve ' + (w.policy + 1) + ': ' : '') + w.text))) : null,
		head ? pairs('Figures', head, c.table.slice(1)) : null);
	const wanted = c.charts ?? [];
	if (byId('charts').children.length !== wanted.length) {
		fill('charts', ...wanted.map(() => node('figure', {}, node('figcaption', {}), node('img', {}))));
	}
	wanted.forEach((chart, i) => {
		const [caption, image] = byId('charts').children[i].children;
		caption.textContent = chart.title;
		image.alt = chart.text;
		image.src = chart.url;
	});
}

function policyForm(p, i) {
	const set = (key, read = v => v) => v => { curves().policies[i][key] = read(v); };
	const of = label => 'curve ' + (i + 1) + ': ' + label;
	const name = node('input', {value: p.name, size: 16, autocomplete: 'off', maxLength: 40});
	name.addEventListener('input', () => { curves().policies[i].name = name.value; changed(); });
	const choose = node('select', {'aria-label': of('preset')}, node('option', {value: ''}, 'take a preset'), ...presets.map((q, k) => node('option', {value: String(k)}, q.name)));
	choose.addEventListener('change', () => {
		if (choose.value === '') return;
		curves().policies[i] = {...presets[Number(choose.value)]};
		redraw(() => byId('policies').children[i].querySelector('select'));
	});
	return node('fieldset', {}, node('legend', {}, 'Curve ' + (i + 1)),
		node('div', {className: 'row'}, node('label', {}, 'name ', name), choose,
			node('button', {type: 'button', 'aria-label': 'Remove curve ' + (i + 1), onclick: () => {
				curves().policies.splice(i, 1);
				redraw(() => byId('policy-add'));
			}}, 'Remove')),
		slider(of('initial'), p.initial, set('initial')),
		slider(of('maximum'), p.max, set('max')),
		slider(of('factor'), p.factor, set('factor', decimal), {min: 1, max: 5, step: 0.1}),
		slider(of('jitter'), p.jitter, set('jitter', decimal), {min: 0, max: 1, step: 0.05}),
		slider(of('reset after'), p.reset, set('reset')),
		p.starts ? node('small', {}, `gives up after ${p.starts} starts in ${p.within}`) : null,
		p.outside ? node('small', {}, 'works without a kubelet, so restarts make no API requests') : null);
}

// redraw recreates the forms and sets the focus.
async function redraw(focus) {
	policyShape = '';
	await show();
	focus()?.focus();
}

// ---- events

function listen() {
	byId('manifest').addEventListener('input', () => { state.manifest = byId('manifest').value; trialShape = ''; byId('example').value = '-1'; changed(300); });
	byId('job').addEventListener('change', () => { state.job = byId('job').value; state.trials = state.script = undefined; trialShape = ''; changed(0); });
	byId('script').addEventListener('input', () => { state.script = byId('script').value; state.step = 0; changed(300); });
	byId('example').addEventListener('change', () => {
		const chosen = examples[Number(byId('example').value)];
		if (chosen) startWith(chosen);
	});
	byId('trial-add').addEventListener('click', async () => {
		const all = trials();
		all.push({index: 0, failures: 0, ignored: 0, exits: {}, conditions: '', ...structuredClone(all.at(-1) ?? {})});
		await show();
		byId('trials').lastElementChild.querySelector('input').focus();
	});
	byId('step').addEventListener('input', () => step(Number(byId('step').value)));
	byId('step-first').addEventListener('click', () => step(1));
	byId('step-back').addEventListener('click', () => step(current() - 1));
	byId('step-next').addEventListener('click', () => step(current() + 1));
	byId('step-last').addEventListener('click', () => step(latest.run.steps));
	byId('reduce').addEventListener('change', () => { curves().reduce = byId('reduce').checked; changed(0); });
	byId('allowMax').addEventListener('change', () => { curves().allowMax = byId('allowMax').checked; changed(0); });
	byId('nodeMax').addEventListener('input', () => { curves().max = byId('nodeMax').value.trim(); changed(); });
	byId('policy-add').addEventListener('click', () => { curves().policies.push({...presets[0], name: 'curve ' + (curves().policies.length + 1)}); redraw(() => byId('policies').lastElementChild.querySelector('input')); });
	byId('node-add').addEventListener('click', () => { curves().policies.push({...latest.curves.node}); redraw(() => byId('policies').lastElementChild.querySelector('input')); });
	byId('skip').addEventListener('click', event => { event.preventDefault(); byId('panel-' + state.tab).focus(); });
	byId('copy').addEventListener('click', async () => {
		try {
			await navigator.clipboard.writeText(location.href);
			byId('copied').textContent = 'Copied.';
		} catch (err) {
			byId('copied').textContent = 'The browser refuses to copy; the address of the page is the link.';
		}
	});
	for (const t of tabs) byId('tab-' + t).addEventListener('click', () => { state.tab = t; show(); });
	document.querySelector('[role=tablist]').addEventListener('keydown', event => {
		const at = tabs.indexOf(state.tab);
		const to = {ArrowRight: at + 1, ArrowLeft: at + tabs.length - 1, Home: 0, End: tabs.length - 1}[event.key];
		if (to === undefined) return;
		event.preventDefault();
		state.tab = tabs[to % tabs.length];
		show();
		byId('tab-' + state.tab).focus();
	});
	window.addEventListener('hashchange', readLink);
	window.addEventListener('resize', () => { if (state.tab !== 'check') changed(200); });
	window.addEventListener('beforeprint', () => { byId('paper').textContent = state.manifest; });
}

function startWith(example) {
	state = {...state, manifest: example.text, job: '', trials: undefined, script: undefined, step: 0};
	fillForms();
	return show();
}

// ---- start

async function start() {
	const answer = await fetch('api/examples');
	if (!answer.ok) throw new Error(await answer.text());
	examples = await answer.json();
	fill('example', node('option', {value: '-1'}, 'your own'), ...examples.map((e, i) => node('option', {value: String(i)}, e.name)));
	for (const id of ['manifest', 'script']) withNumbers(byId(id));
	withLimit(byId('manifest'), largestManifest);
	withLimit(byId('script'), largestScript);
	listen();
	if (!await readLink()) {
		const wrong = !byId('notice').hidden;
		await startWith(examples[0]);
		if (wrong) notice(damaged);
	}
	document.documentElement.dataset.ready = 'yes';
}

start().catch(err => notice('The page cannot start: ' + err.message));
