'use strict';
// The browser's part of the page. It passes the input to the program, which is Go compiled
// to WebAssembly and runs in a worker, and shows the answer. All text is set as text.
// Pictures come from the program and are checked element by element.

const byId = id => document.getElementById(id);
const tabs = ['job', 'simulate', 'curves'];
const longestLink = 50000; // characters
const largestState = 4 << 20; // bytes
const largestManifest = 262144; // bytes accepted by the program
const largestScript = 65536;

let state = {tab: 'job', manifest: '', name: '', step: 0, curves: {}};
let examples = [];
let presets = [];
let latest = {}; // the latest answer of the program for each tab

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

const rules = {createHTML: text => text, createScriptURL: url => url};
const trusted = window.trustedTypes ? trustedTypes.createPolicy('playground', rules) : rules;
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

// ---- the program

let worker = null;
let working = null; // the request being answered
let waiting = null; // the next request
let pending = 0; // timer of the next request
let settled = []; // called once everything is shown

// startWorker starts a worker that runs the texts as a program. It inherits the page's
// current policy.
function startWorker(...texts) {
	const url = URL.createObjectURL(new Blob(texts, {type: 'text/javascript'}));
	const started = new Worker(trusted.createScriptURL(url));
	URL.revokeObjectURL(url);
	return started;
}

// startProgram runs the program. The promise resolves once the program is ready.
function startProgram(packed, ...texts) {
	return new Promise((ready, failed) => {
		worker = startWorker(...texts);
		worker.onmessage = ({data}) => {
			worker.onmessage = ({data}) => answered(data);
			data.ready ? ready() : failed(new Error(data.failure));
		};
		worker.onerror = event => failed(new Error(event.message));
		worker.postMessage(packed, [packed]);
	});
}

// cut shortens the texts of the state to one character more than the program accepts. The
// program refuses longer texts in any case.
function cut(state) {
	return {...state, manifest: state.manifest.slice(0, largestManifest + 1), script: state.script?.slice(0, largestScript + 1)};
}

// changed requests a new view after the delay.
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

function width() {
	const place = state.tab === 'curves' ? byId('curves-pictures') : byId('panel-simulate');
	return Math.max((place.clientWidth || document.body.clientWidth) - 4, 320);
}

// show requests a view of the state, or of the state in a link. While the program is busy,
// only the last request waits. The promise resolves once everything is shown.
function show(link) {
	clearTimeout(pending);
	pending = 0;
	selectTab(state.tab);
	waiting = typeof link === 'string' ? {link} : {};
	busy(true);
	work();
	return new Promise(done => settled.push(done));
}

// work sends the waiting request to the program, unless the program is busy.
function work() {
	if (working) return;
	if (!waiting) {
		if (pending) return;
		busy(false);
		settled.forEach(done => done());
		settled = [];
		return;
	}
	working = {...waiting, state: cut(state), width: width()};
	waiting = null;
	worker.postMessage(JSON.stringify(working));
}

// answered shows a view. It drops outdated views, except those of curves, which follow
// their sliders.
function answered({answer, failure}) {
	const request = working;
	working = null;
	if (failure !== undefined) {
		notice('The program of this page has ended (' + failure + '). Reload the page; the link above keeps your input.');
		waiting = null;
	} else if (!waiting || request.link !== undefined || request.state.tab === 'curves' && state.tab === 'curves') {
		present(request, JSON.parse(answer));
	}
	work();
}

function present(request, view) {
	notice(view.notice);
	if (!view.state) {
		summary('No result.');
		return;
	}
	if (request.link !== undefined) {
		state = view.state;
		fillForms();
	}
	latest = {...latest, ...view};
	selectTab(state.tab);
	if (view.job) showJob(view.job);
	if (view.simulate) showSimulation(view.simulate);
	if (view.curves) showCurves(view.curves, view.state.curves);
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
	byId('name').value = state.name;
	byId('script').value = state.script ?? '';
	const c = state.curves;
	byId('reduce').checked = Boolean(c.reduce);
	byId('allowMax').checked = Boolean(c.allowMax);
	byId('nodeMax').value = c.max ?? '';
	byId('example').value = String(examples.findIndex(e => e.text === state.manifest));
	trialShape = policyShape = triedContainers = '';
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

async function readLink() {
	const link = location.hash.slice(1);
	if (!link || location.hash === written) return false;
	let text = '';
	try {
		text = await unpack(decodeURIComponent(link));
	} catch (err) {
		text = 'no state';
	}
	await show(text);
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
	return [node('h2', {}, title), node('ul', {className: 'remarks'}, ...list.map(r =>
		node('li', {className: r.kind}, node('b', {}, r.kind), lineButton(r.line, field), ' ', node('span', {className: 'text'}, r.text))))];
}

function pairs(caption, head, rows) {
	if (!rows || !rows.length) return null;
	return node('table', {}, node('caption', {}, caption),
		head ? node('thead', {}, node('tr', {}, ...head.map(h => h ? node('th', {scope: 'col'}, h) : node('td')))) : null,
		node('tbody', {}, ...rows.map(r => node('tr', {}, node('th', {scope: 'row'}, r[0]), ...r.slice(1).map(c => node('td', {}, c))))));
}

// unread returns the title of the remarks on a file that is not shown but may be valid.
const unread = list => list?.some(r => r.kind === 'notice') ? 'Not shown' : 'Mistakes';

// ---- Job

function showJob(job) {
	summary(job.summary);
	fill('mistakes', ...remarks(unread(job.mistakes), job.mistakes, byId('manifest')));
	fill('findings', ...remarks('Likely mistakes', job.findings, byId('manifest')));
	fill('worst', pairs('The worst case', null, job.worst));
	const valid = !job.mistakes;
	byId('trials').hidden = byId('trial-add').hidden = !valid;
	if (valid) showTrials(job);
	fill('defaults', pairs('Defaults that the API server fills in', ['field', 'value'], job.filled),
		job.spec ? node('details', {}, node('summary', {}, 'The specification with its defaults'), node('pre', {tabIndex: 0}, job.spec)) : null,
		job.unused ? node('details', {}, node('summary', {}, 'Without effect here'), node('ul', {}, ...job.unused.map(u => node('li', {}, u)))) : null);
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
	state.trials ??= (latest.job.trials ?? []).map(t => t.trial);
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
			entry('failures before', trial.failures, (t, v) => { t.failures = whole(v); }, counts),
			entry('and ignored ones', trial.ignored, (t, v) => { t.ignored = whole(v); }, counts),
			entry('conditions', trial.conditions, (t, v) => { t.conditions = v; }, {size: 18, placeholder: 'DisruptionTarget'}),
			node('button', {type: 'button', 'aria-label': 'Remove pod ' + (i + 1), onclick: () => { trials().splice(i, 1); trialShape = ''; changed(0); byId('trial-add').focus(); }}, 'Remove')),
		node('div', {id: 'tried-' + i, className: 'tried'}));
}

function trialResult(t) {
	if (t.mistake) return [node('p', {className: 'mistake'}, node('b', {}, 'mistake'), ' ', t.mistake)];
	return [
		node('p', {}, node('strong', {}, t.decides), t.counts ? ': ' + t.counts + '.' : '.', t.next ? ' ' + t.next[0].toUpperCase() + t.next.slice(1) + '.' : ''),
		t.rules ? node('ul', {}, ...t.rules.map(r => node('li', {className: r.matched ? 'matched' : ''}, `rule ${r.rule} (${r.action}): ${r.why}`))) : null,
	].filter(e => e);
}

// ---- Simulate

function showSimulation(s) {
	summary(s.summary);
	if (document.activeElement !== byId('script')) byId('script').value = s.script;
	numberLines();
	fill('wrong', ...remarks(unread(s.mistakes), s.mistakes, byId('manifest')), ...remarks('Mistakes in the script', s.wrong, byId('script')));
	const slider = byId('step');
	slider.max = Math.max(s.steps, 1);
	slider.value = s.step;
	slider.disabled = s.steps < 2;
	slider.setAttribute('aria-valuetext', `step ${s.step} of ${s.steps}, at ${s.at}`);
	byId('step-text').textContent = s.steps ? `${s.step} of ${s.steps}, at ${s.at}` : '';
	byId('step-first').disabled = byId('step-back').disabled = s.step <= 1;
	byId('step-next').disabled = byId('step-last').disabled = s.step >= s.steps;
	fill('lines', s.lines ? node('ul', {}, ...s.lines.map(l => node('li', {}, l))) : null,
		s.notes ? node('p', {}, s.notes.join('; ')) : null);
	picture(byId('run-picture'), s.picture);
	byId('run-picture').hidden = !s.picture;
	fill('status', s.status ? node('h2', {}, 'Status') : null, s.status ? node('pre', {tabIndex: 0}, s.status) : null);
}

function step(n) {
	const last = latest.simulate.steps;
	n = Math.min(Math.max(n, 1), last);
	state.step = n === last ? 0 : n;
	show();
}

// current returns the requested step.
const current = () => state.step || latest.simulate.steps;

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
	if (!state.curves.policies) state.curves = latest.state.curves;
	return state.curves;
}

function showCurves(c, settings) {
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
			slider('drawn time', settings.window, v => { curves().window = v; }),
			node('small', {}, 'requests to the API server per restart'));
	}
	byId('policy-add').disabled = byId('node-add').disabled = settings.policies.length >= 4;
	byId('node-add').disabled ||= !c.node;
	fill('node-notes', node('p', {}, c.nodeText ? 'Delays of ' + c.nodeText + '.' : ''),
		c.notes ? node('ul', {}, ...c.notes.map(n => node('li', {className: n.warning ? 'warning' : ''},
			n.warning ? node('b', {}, 'warning') : null, `${n.field} ${n.value}: ${n.reason}`))) : null);
	const head = c.table ? c.table[0] : null;
	fill('curves-table', c.wrong ? node('ul', {className: 'remarks'}, ...c.wrong.map(w => node('li', {className: 'mistake'}, node('b', {}, 'mistake'),
		(w.policy >= 0 ? 'policy ' + (w.policy + 1) + ': ' : '') + w.text))) : null,
		head ? pairs('Figures', head, c.table.slice(1)) : null);
	const wanted = c.pictures ?? [];
	byId('curves-pictures').hidden = !wanted.length;
	if (byId('curves-pictures').children.length !== wanted.length) {
		fill('curves-pictures', ...wanted.map((p, i) => node('div', {className: 'picture', id: 'curve-picture-' + i})));
	}
	wanted.forEach((p, i) => picture(byId('curve-picture-' + i), p));
}

function policyForm(p, i) {
	const set = (key, read = v => v) => v => { curves().policies[i][key] = read(v); };
	const of = label => 'policy ' + (i + 1) + ': ' + label;
	const name = node('input', {value: p.name, size: 16, autocomplete: 'off', maxLength: 40});
	name.addEventListener('input', () => { curves().policies[i].name = name.value; changed(); });
	const choose = node('select', {'aria-label': of('preset')}, node('option', {value: ''}, 'take a preset'), ...presets.map((q, k) => node('option', {value: String(k)}, q.name)));
	choose.addEventListener('change', () => {
		if (choose.value === '') return;
		curves().policies[i] = {...presets[Number(choose.value)]};
		redraw(() => byId('policies').children[i].querySelector('select'));
	});
	return node('fieldset', {}, node('legend', {}, 'Policy ' + (i + 1)),
		node('div', {className: 'row'}, node('label', {}, 'name ', name), choose,
			node('button', {type: 'button', 'aria-label': 'Remove policy ' + (i + 1), onclick: () => {
				curves().policies.splice(i, 1);
				redraw(() => byId('policy-add'));
			}}, 'Remove')),
		slider(of('initial'), p.initial, set('initial')),
		slider(of('maximum'), p.max, set('max')),
		slider(of('factor'), p.factor, set('factor', decimal), {min: 1, max: 5, step: 0.1}),
		slider(of('jitter'), p.jitter, set('jitter', decimal), {min: 0, max: 1, step: 0.05}),
		slider(of('reset after'), p.reset, set('reset')),
		node('div', {className: 'row limit'},
			field('gives up after', p.starts ?? '', set('starts', whole), {size: 4, inputMode: 'numeric', placeholder: 'any'}),
			field('starts in', p.within ?? '', set('within', text => text.trim()), {size: 5, placeholder: '10s'})),
		check('restarted by a kubelet: makes API requests', !p.outside, on => { curves().policies[i].outside = !on; }));
}

// field and check create a field and a box with a label.
function field(label, value, set, properties) {
	const input = node('input', {value, autocomplete: 'off', ...properties});
	input.addEventListener('input', () => { set(input.value); changed(); });
	return node('label', {}, label + ' ', input);
}

function check(label, checked, set) {
	const input = node('input', {type: 'checkbox', checked});
	input.addEventListener('change', () => { set(input.checked); changed(0); });
	return node('label', {className: 'check'}, input, ' ' + label);
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
	byId('name').addEventListener('input', () => { state.name = byId('name').value.trim(); trialShape = ''; changed(300); });
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
	byId('step-last').addEventListener('click', () => step(latest.simulate.steps));
	byId('reduce').addEventListener('change', () => { curves().reduce = byId('reduce').checked; changed(0); });
	byId('allowMax').addEventListener('change', () => { curves().allowMax = byId('allowMax').checked; changed(0); });
	byId('nodeMax').addEventListener('input', () => { curves().max = byId('nodeMax').value.trim(); changed(); });
	byId('policy-add').addEventListener('click', () => { curves().policies.push({...presets[0], name: 'policy ' + (curves().policies.length + 1)}); redraw(() => byId('policies').lastElementChild.querySelector('input')); });
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
	window.addEventListener('resize', () => { if (state.tab !== 'job') changed(200); });
	window.addEventListener('beforeprint', () => { byId('paper').textContent = state.manifest; });
}

function startWith(example) {
	state = {...state, manifest: example.text, name: '', trials: undefined, script: undefined, step: 0};
	fillForms();
	return show();
}

// ---- start

// load fetches a file.
async function load(name, as) {
	const answer = await fetch(name);
	if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`);
	return answer[as]();
}

async function start() {
	const [program, support, source, list] = await Promise.all([load('playground.bin', 'arrayBuffer'), load('wasm_exec.js', 'text'), load('worker.js', 'text'), load('examples.json', 'json')]);
	examples = list;
	// From here on the page makes no request, and neither does the worker, which inherits
	// the policy.
	document.head.append(node('meta', {httpEquiv: 'Content-Security-Policy', content: "connect-src 'none'"}));
	await startProgram(program, support, source);
	fill('example', node('option', {value: '-1'}, 'your own'), ...examples.map((e, i) => node('option', {value: String(i)}, e.name)));
	for (const id of ['manifest', 'script']) withNumbers(byId(id));
	listen();
	if (!await readLink()) await startWith(examples.find(e => e.name === 'quickstart') ?? {text: ''});
	performance.mark('first result');
	document.documentElement.dataset.ready = 'yes';
}

start().catch(err => notice('The page cannot start: ' + err.message));
