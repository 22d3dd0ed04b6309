#!/bin/bash
# Shows whether what lies between two commits changed a verdict: the bundled targets, the foreign ones, every mutant and
# the peers of test/hostile and targets of test/odd are judged by both commits, and the results compared clause by clause.
# CONTRIBUTING.md says when to use it; internal/equal compares.
set -euo pipefail

usage() {
	cat <<'END'
usage: test/equal.sh [flags] OLD [NEW]

OLD and NEW are commits; without NEW it is HEAD. Exit code 1: a verdict differs, and no line of --explained says why.

  --explained FILE   the differences that are meant, one per line: TARGET CLAUSE OLD NEW WHY (* stands for any text)
  --prepare SCRIPT   run in the checkout of OLD, to teach it what this needs (see test/equal)
  --keep FOLDER      keep the results there, and go on with what an earlier call has left there
  --parts LIST       some of bundled, foreign, mutants and tests (default all)
  --protocol NAME    may be repeated (default every protocol of OLD, pages last); not for tests
  --again N          judge targets that differ N more times, to tell what is unsteady (default 2)
  --nice N           (default 10)
END
	exit 2
}

tests='^Test(Bad[A-Z].*|Catalogue|CatalogueOfPages|Odd[A-Z].*|TLS|DeadPort|NoBrowser|AgentConnectsByItself|LateEnds|Twice|SwitchesOfOthers'
tests+='|ResetOnReuse|FirstChunkLate|PromptAsUserMessage)$'

explained='' prepare='' keep='' parts='bundled foreign mutants tests' protocols='' again=2 nice=10
while [[ ${1:-} == --* ]]; do
	[[ $# -ge 2 ]] || usage
	case $1 in
	--explained) explained=$(realpath "$2") ;;
	--prepare) prepare=$(realpath "$2") ;;
	--keep) mkdir -p "$2" && keep=$(realpath "$2") ;;
	--parts) parts=${2//,/ } ;;
	--protocol) protocols+=" $2" ;;
	--again) again=$2 ;;
	--nice) nice=$2 ;;
	*) usage ;;
	esac
	shift 2
done
[[ $# -eq 1 || $# -eq 2 ]] || usage
cd "$(git rev-parse --show-toplevel)"
declare -A commit=([old]=$(git rev-parse --verify "$1^{commit}") [new]=$(git rev-parse --verify "${2:-HEAD}^{commit}"))

work=$(mktemp -d)
kept=${keep:-$work/results}
mkdir -p "$kept"
finish() {
	for side in old new; do git worktree remove --force "$work/$side" 2>/dev/null || true; done
	rm -rf "$work"
}
trap finish EXIT
say() { echo "$(date +%T)  $*" >&2; }

build() { # SIDE
	git worktree add --quiet --detach "$work/$1" "${commit[$1]}"
	cd "$work/$1"
	if [[ $1 == old && -n $prepare ]]; then "$prepare"; fi
	nice -n "$nice" go build -trimpath -o "$work/$1.parley" ./cmd/parley
	if [[ $("$work/$1.parley" help mutants) != *--out* ]]; then
		echo "equal.sh: parley mutants of ${commit[$1]} has no --out; --prepare can teach it" >&2
		exit 2
	fi
}

parley() { # SIDE ARGUMENTS: exit codes say what was found, and are compared with everything else
	local side=$1 code=0
	shift
	nice -n "$nice" "$work/$side.parley" "$@" >/dev/null 2>>"$kept/$side.log" || code=$?
	case $code in 0 | 1 | 3 | 5) ;; *) say "$side: parley $* ended with $code; see $kept/$side.log" ;; esac
}

bundled() { # SIDE ROUND PROTOCOL
	parley "$1" run --protocol "$3" --driver all --role all --format json --out "$kept/$1$2/bundled/$3"
}

# profiles prints where those of OLD are.
profiles() { if [[ -d $work/old/examples/profiles ]]; then echo examples/profiles; else echo profiles; fi; }

foreign() { # SIDE ROUND NAME: both sides judge the targets of OLD
	(cd "$work/old" && parley "$1" run --target "$(profiles)/$3.yaml" --format json --out "$kept/$1$2/foreign/$3")
}

mutants() { # SIDE ROUND PROTOCOL [IDS]
	parley "$1" mutants --protocol "$3" ${4:+--only "$4"} --json --out "$kept/$1$2/mutants"
}

judgetests() { # SIDE ROUND PATTERN
	local packages=(./test/hostile ./test/odd)
	[[ -d $work/$1/test/hostile ]] || packages=(./test/bad ./test/odd)
	[[ -d $work/$1/test/odd ]] || packages=(.)
	(cd "$work/$1" && PARLEY_TESTS=all PARLEY_KEEP="$kept/$1$2/tests" nice -n "$nice" \
		go test -trimpath -count=1 -timeout 60m -run "$3" "${packages[@]}") >>"$kept/$1.log" 2>&1 ||
		say "$1: tests failed; see $kept/$1.log"
}

# both WHAT ROUND ARGUMENTS: side by side, so that the machine is as busy for the one as for the other. What an earlier
# call has kept is not done again, except for rounds.
both() {
	local what=$1 round=$2 side mark
	shift 2
	mark="$kept/done-$what-${1//[^a-z-]/_}"
	if [[ -z $round && -e $mark ]]; then return; fi
	say "$what $1"
	for side in old new; do "$what" "$side" "$round" "$@" & done
	wait
	if [[ -z $round ]]; then touch "$mark"; fi
}

part() { [[ " $parts " == *" $1 "* ]]; }

of() { sed -n 's/^protocol: *//p' "$work/old/$(profiles)/$1.yaml"; } # NAME of a profile

first() {
	local protocol name
	for protocol in $protocols; do
		if part bundled; then both bundled '' "$protocol"; fi
		for name in "$work/old/$(profiles)"/*.yaml; do
			name=$(basename "$name" .yaml)
			if part foreign && [[ $(of "$name") == "$protocol" ]]; then both foreign '' "$name"; fi
		done
		if part mutants; then both mutants '' "$protocol"; fi
	done
	if part tests; then both judgetests '' "$tests"; fi
}

# repeat ROUND: once more what differs
repeat() {
	local protocol name names ids
	for protocol in $protocols; do
		if grep -q "^bundled/$protocol\(/\|$\)" "$work/differing"; then both bundled "$1" "$protocol"; fi
		ids=$(sed -n "s|^mutants/$protocol-[a-z]*/||p" "$work/differing" | sort -u | paste -sd, -)
		if [[ -n $ids ]]; then both mutants "$1" "$protocol" "$ids"; fi
	done
	for name in $(sed -n 's|^foreign/||p' "$work/differing"); do both foreign "$1" "$name"; done
	names=$(sed -n 's|^tests/\([^/]*\).*|\1|p' "$work/differing" | sort -u | paste -sd'|' -)
	if [[ -n $names ]]; then both judgetests "$1" "^($names)\$"; fi
}

equal() {
	nice -n "$nice" "$work/equal" ${explained:+--explained "$explained"} --targets "$work/differing" "${folders[@]}"
}

nice -n "$nice" go build -trimpath -o "$work/equal" ./internal/equal
for side in old new; do (build "$side"); done
: "${protocols:=$(cd "$work/old/features" && dirname */clauses.yaml | grep -v agent-client) agent-client}"
first
folders=("$kept/old" "$kept/new")
for ((round = 1; round <= again; round++)); do
	if equal >/dev/null; then break; fi
	say "once more, number $round: $(sort -u "$work/differing" | wc -l) targets that differ"
	mkdir -p "$kept/old.$round" "$kept/new.$round"
	repeat ".$round"
	folders+=("$kept/old.$round" "$kept/new.$round")
done
equal
