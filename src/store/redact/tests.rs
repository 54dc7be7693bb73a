use proptest::prelude::*;

use super::redact;

mod names;
mod programs;
mod shapes;
mod words;

/// Commands with one secret, for which `@@` is a placeholder.
const PLACES: &[&str] = &[
    "mysql --password=@@ -u root shop",
    "mysql --password='@@' shop",
    "mysqldump -u root -p@@ shop > shop.sql",
    "PGPASSWORD=@@ psql -h db.example.com -c 'select 1'",
    "export GITHUB_TOKEN=@@",
    "export GITHUB_TOKEN=\"@@\"; make",
    "env AWS_SECRET_ACCESS_KEY=@@ aws s3 ls",
    "STRIPE_API_KEY=@@ node pay.js",
    "DB_PASS=@@ ./run",
    "tool --token @@ --verbose",
    "tool --token '@@' --verbose",
    "tool --api-key=@@",
    "tool '--password=@@' next",
    "curl -u ada:@@ https://example.com",
    "curl -uada:@@ https://example.com",
    "curl --user 'ada:@@' https://example.com",
    "curl -H 'Authorization: Bearer @@' https://example.com",
    "curl -H \"Authorization: token @@\" https://example.com",
    "curl -H 'X-Api-Key: @@' https://example.com",
    "curl -H 'PRIVATE-TOKEN: @@' https://example.com",
    "curl -d '{\"user\":\"ada\",\"password\":\"@@\"}' https://example.com",
    "curl -d \"{\\\"password\\\": \\\"@@\\\"}\" https://example.com",
    "curl 'https://example.com/?access_token=@@&page=2'",
    "git clone https://ada:@@@example.com/repo.git",
    "psql postgres://ada:@@@db.example.com:5432/shop",
    "bash -c \"PGPASSWORD=@@ psql shop\"",
    "sudo -u ada env TOKEN=@@ make",
    "echo @@ | docker login --password-stdin -u ada",
    "echo '@@' | sudo -S ls",
    "docker login -u ada -p @@ registry.example.com",
    "docker run -e 'API_TOKEN=@@' image",
    "sshpass -p @@ ssh host",
    "sshpass -p '@@' ssh host",
    "redis-cli -a @@ ping",
    "smbclient -U ada%@@ //host/share",
    "openssl enc -aes-256-cbc -in x -pass pass:@@",
    "7z a -p@@ out.7z dir",
    "kubectl create secret generic db --from-literal=password=@@",
    "kubectl create secret generic db --from-literal=user=@@",
    "kubectl create secret generic db --from-literal 'dsn=@@'",
    "wrangler secret put STRIPE <<< @@",
    "wrangler secret put STRIPE <<< '@@'",
    "echo @@ | wrangler secret put STRIPE",
    "read -s PW <<< @@",
    "read -r PW <<< @@",
    "echo @@ > .env.production",
    "echo API=@@ >> .env",
    "tee ~/.pgpass <<< '@@'",
    "cat > ~/.netrc <<< '@@'",
    "perl -e 'my $password = \"@@\"; run()'",
    "php -r '$password = \"@@\";'",
    "aws secretsmanager create-secret --name db --secret-string @@",
    "read -r DB_PASSWORD <<< '@@'",
    "echo @@ > ~/.vault-token",
    "printf '@@' > deploy/api_token.txt",
    "echo '@@' >> certs/server.key",
    "npm config set //registry.npmjs.org/:_authToken=@@",
    "printf 'password: @@' > x\nls",
    "mount -t cifs //h/s /mnt -o username=ada,password=@@,uid=1000",
    "sqlcmd -S host -U sa -P @@",
    "gh secret set NAME --body @@",
    "openssl enc -aes-256-cbc -k @@ -in x",
    "twine upload -u __token__ -p @@ dist/x.whl",
    "lftp -u ada,@@ ftp.example.com",
    "xfreerdp /u:ada /p:@@ /v:host",
    "vault login @@",
    "vault login -no-print @@",
    "cargo login @@",
    "htpasswd -b .htpasswd ada @@",
    "sqlplus ada/@@@shop",
    "sqlplus -s ada/@@",
    "mosquitto_pub -h host -u ada -P @@ -t t -m hello",
    "python -c 'import os; os.environ[\"TOKEN\"]=\"@@\"; run()'",
    "python -c 'import os; os.environ[\"TOKEN\"] = \"@@\"; run()'",
    "cat > ~/.my.cnf <<E\n[client]\nuser = ada\npassword = @@\nE",
    "printf '[client]\\npassword = @@\\n' > x",
    "echo 'machine example.com login ada password @@' >> x",
    "psql -c \"ALTER USER ada WITH PASSWORD '@@'\"",
    "mysql -e \"CREATE USER 'ada'@'%' IDENTIFIED BY '@@'; select 1\"",
    "vault kv put secret/db value=@@",
    "vault kv put -mount=secret db value='@@'",
    "aws configure set aws_secret_access_key @@",
    "aws --profile prod configure set aws_secret_access_key @@",
    "aws ssm put-parameter --name x --type SecureString --value @@",
    "az keyvault secret set --vault-name v -n x --value @@",
    "fly secrets set STRIPE=@@",
    "netlify env:set FOO @@",
    "pulumi config set --secret tok @@",
    "ansible-vault encrypt_string '@@'",
    "npm config set //registry.npmjs.org/:_authToken @@",
    "node -e 'const token = `@@`; run()'",
    "ruby -e 'secret = %q(@@)'",
    "python3 -c 'token = b\"@@\"; run()'",
    "python3 -c 'password = \"\"\"@@\"\"\"; run()'",
    "perl -e 'my $password = q{@@};'",
    "useradd -m -p @@ ada",
    "rclone config update x pass @@",
    "restic --password-command 'echo @@' snapshots",
    "RESTIC_PASSWORD_COMMAND='echo @@' restic snapshots",
    "nmcli dev wifi connect ssid password @@",
    "wpa_passphrase ssid @@",
    "security add-generic-password -a ada -s x -w @@",
    "pass insert -e foo <<< @@",
    "echo @@ | pass insert -e foo",
    "keyctl add user k @@ @u",
    "mc alias set name https://s3.example.com ada @@",
    "app 'Server=db;User Id=sa;Password=@@;Encrypt=true'",
];

/// Commands that people type and that contain no secret.
const ORDINARY: &[&str] = &[
    "ls -la",
    "git commit -m 'fix token: handle expiry of sessions'",
    "git commit -m \"docs: how to set the api key\"",
    "git show 1f0c3f2a9d8b7c6e5f4a3b2c1d0e9f8a7b6c5d4e",
    "docker pull alpine@sha256:c5b1261d6d3e43071626931fc004f70149baeba2c8ec672bd4f27761f8e1ad6b",
    "sort --key=2 -t: /etc/passwd",
    "sort -k2 --key 3 file",
    "mysql -u root -p shop",
    "mysql --password shop",
    "psql --password -h localhost shop",
    "docker service create --secret db-password nginx",
    "docker login --password-stdin registry.example.com",
    "docker build --secret id=npm,src=/home/ada/.npmrc .",
    "curl https://example.com/a?page=2",
    "curl -u \"$USER:$PASS\" https://example.com",
    "curl -H \"Authorization: Bearer $TOKEN\" https://example.com",
    "curl -H 'Content-Type: application/json' https://example.com",
    "export PGPASSWORD=$DB_PASSWORD",
    "export TOKEN=$(gh auth token)",
    "TOKEN=`cat /run/secrets/token` make",
    "PWD=/tmp ls && cd $OLDPWD",
    "export API_KEY=\"${API_KEY}\"",
    "ssh -i ~/.ssh/id_ed25519 git@github.com",
    "git clone git@github.com:rust-lang/rust.git",
    "git clone https://github.com/rust-lang/rust.git",
    "npm install @babel/core@7 --save-dev",
    "curl https://registry.npmjs.org/@babel/core",
    "curl http://localhost:8080/@vite/client",
    "tool --private-key ./key.pem --token-file /run/token",
    "openssl req -newkey rsa:2048 -keyout key.pem -out cert.pem",
    "MAX_TOKENS=4096 PRIMARY_KEY=id python train.py --pad-token 0",
    "ansible all --ask-pass -m ping",
    "grep -rn 'password' src/",
    "grep -E 'token|secret' -r .",
    "cat ~/.aws/credentials",
    "echo key=value",
    "pip install scikit-learn==1.5.0",
    "npm_config_loglevel=silent npm ci",
    "mkdir -p src/auth && touch src/auth/token.rs",
    "cargo test --lib store::key",
    "zip -r out.zip dir && unzip -l out.zip",
    "find . -name '*.key' -newer a",
    "mongosh --port 27017",
    "ps -p 1234",
    "make PASS=1 test",
    "echo 'ada ALL=NOPASSWD: ALL' > sudoers",
    "dialog --title \"Password:\" --yesno x 5 20",
    "npm run pass:all",
    "kubectl get secret db -o yaml",
    "aws sts get-caller-identity --profile prod",
    "python - <<'EOF'\npassword = input()\nEOF",
    "for k in a b; do echo \"$k\"; done",
    "x=\"it's\"; echo '\"'",
    "[ \"$TOKEN\" = x ] && [ \"${PASSWORD}\" = y ] && test $TOKEN = z",
    "python - <<'EOF'\npassword = config.password\ntoken = get_token(1)\nsecret = os.environ[\"X\"]\nEOF",
    "vault login -method=userpass username=ada",
    "htpasswd -c .htpasswd ada",
    "sqlplus /nolog",
    "psql -c \"ALTER USER ada WITH PASSWORD NULL\"",
    "psql -c \"select password from 'user'\"",
    "grep password 'a b'",
    "openssl enc -aes-256-cbc -kfile key.txt -in x",
    "git log --author=ada@example.com --format=%H",
    "vault kv get secret/db",
    "aws configure set region eu-central-1",
    "aws ssm get-parameter --name x",
    "pulumi config set aws:region eu-central-1",
    "git config user.name ada && npm config set registry https://registry.npmjs.org/",
    "nmcli dev wifi connect ssid",
    "useradd -m -s /bin/bash ada",
    "keyctl show @u",
    "restic --password-file p snapshots",
    "cargo run login name",
    "node -e 'const token = `${process.env.X}`'",
    "ruby -e 'secret = quote(x)'",
    "python3 -c 'token = f(x); secret = r.get(1)'",
    "",
];

#[test]
fn what_is_too_mixed_for_a_name_is_hidden_wherever_it_stands() {
    for secret in ["a8Kd93LxQz0Vb7Tn4RyW1mPc6Hs2", "a8Kd93LxQz0Vb7Tn4RyW1m"] {
        for place in ["deploy @@", "x = '@@'", "puts \"@@\"", "app --x:@@", "f(@@)"] {
            assert_eq!(redact(&place.replace("@@", secret)), (place.replace("@@", "***"), true), "{place}");
        }
    }
    for ordinary in [
        "echo a8Kd93LxQz0Vb7Tn4RyW1mPc6Hs2 | base64 -d",
        "npm install x --integrity sha512-a8Kd93LxQz0Vb7Tn4RyW1mPc6Hs2",
        "cargo test a_file_of_2026_11_22_is_READ_by_Version2_of_Parser3",
        "cat src/AbstractSingletonProxyFactoryBean2Test3Impl4.java",
        "git checkout 1f0c3f2a9d8b7c6e5f4a3b2c1d0e9f8a7b6c5d4e",
        "echo hello > docs/token-format.md",
        "kubectl get 6f1c3f2a-9d8b-4c6e-8f4a-3b2c1d0e9f8a -o yaml",
        "ls /var/folders/9z/x1k2Lm3n/T/Build-2026-11-28/Debug-iphoneos",
        "grep X509V3CertBase64EncodeRfc7468 HTTP2ResponseV1Beta3Handler",
    ] {
        assert_eq!(redact(ordinary), (ordinary.to_owned(), false), "{ordinary}");
    }
}

fn surrounded(place: &str, secret: &str) -> String {
    place.replace("@@", secret)
}

#[test]
fn ordinary_commands_stay_as_they_are_to_the_byte() {
    for command in ORDINARY {
        assert_eq!(redact(command), ((*command).to_owned(), false), "{command}");
    }
}

#[test]
fn only_the_secret_is_hidden() {
    for place in PLACES {
        let command = surrounded(place, "Hunter2xYz");
        assert_eq!(redact(&command), (surrounded(place, "***"), true), "{command}");
    }
}

#[test]
fn tokens_are_known_by_their_shape() {
    let letters = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0U1v2";
    let prefixes = [
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "sk-",
        "sk-proj-",
        "sk-ant-api03-",
        "xoxb-",
        "xoxp-",
        "AKIA",
        "AIza",
        "npm_",
        "hf_",
        "pypi-",
        "SG.",
        "sk_live_",
        "dop_v1_",
        "eyJhbGciOiJIUzI1NiJ9.",
    ];
    for prefix in prefixes {
        for command in ["run @@ now", "run '@@'", "x=@@;y", "https://example.com/@@/x", "é@@é"] {
            let (out, hidden) = redact(&command.replace("@@", &format!("{prefix}{letters}")));
            assert!(hidden && !out.contains(letters), "{prefix}: {out}");
        }
    }
}

#[test]
fn a_private_key_is_hidden_and_its_frame_stays() {
    let command =
        "cat > k <<E\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nAAAA\n-----END OPENSSH PRIVATE KEY-----\nE\nls";
    let kept = "cat > k <<E\n-----BEGIN OPENSSH PRIVATE KEY-----***-----END OPENSSH PRIVATE KEY-----\nE\nls";
    assert_eq!(redact(command), (kept.to_owned(), true));
    let cut = "echo -----BEGIN RSA PRIVATE KEY-----\nMIIE";
    assert_eq!(redact(cut).0, "echo -----BEGIN RSA PRIVATE KEY-----***");
    let public = "echo -----BEGIN PUBLIC KEY----- MIIB -----END PUBLIC KEY-----";
    assert_eq!(redact(public), (public.to_owned(), false));
}

#[test]
fn what_looks_like_an_option_within_a_secret_hides_nothing_behind_it() {
    for (command, kept) in [
        ("sshpass -p '0*0# <-p' ssh h", "sshpass -p '***' ssh h"),
        ("mysql -p'a <-p' shop", "mysql -p'***' shop"),
        ("curl -u 'name:a (-u' https://h", "curl -u 'name:***' https://h"),
        ("PASSWORD='a password' x", "PASSWORD='***' x"),
        ("tool --password='a --password' x", "tool --password='***' x"),
    ] {
        assert_eq!(redact(command).0, kept);
    }
}

#[test]
fn a_text_of_the_greatest_size_is_read_in_linear_steps() {
    // Quadratic time on any of these would be minutes.
    for part in [
        "token=\"",
        "token='",
        "token=$(",
        "a://b:c",
        "password: ",
        "-----BEGIN ",
        "'\\''token=",
        "\"",
        "sk-a",
        "curl -u ",
        "password = ",
        "user password '",
        "identified by ",
        "htpasswd -b ",
        "sqlplus a/b ",
        "vault login ",
    ] {
        let text = part.repeat((1 << 17) / part.len());
        let _ = redact(&text);
    }
}

#[test]
fn what_the_first_reading_uncovers_is_hidden_by_the_next() {
    // The value of the outer name is recognised only after the inner one is redacted.
    assert_eq!(redact("password: TOKEN=,"), ("password: ***".to_owned(), true));
}

#[test]
fn an_expansion_is_one_expansion_and_nothing_else() {
    for value in ["$NAME", "$a_1", "${x}", "${x:-y}", "$(x y)", "`x`", "%x", "{{ x }}", "${{ x }}"] {
        assert_eq!(super::is_expansion(value), value != "%x", "{value}");
    }
    for value in ["$", "$1abc", "$a-b", "$a$b", "${x}y", "${x}${y}", "$(x) $(y)", "`x``y`", "{{x}}{{y}}", "x", "{x}"] {
        assert!(!super::is_expansion(value), "{value}");
    }
}

#[test]
fn what_is_too_mixed_for_a_word_is_told_by_its_length_and_its_letters() {
    for value in [
        "abAB12abAB12",
        "deadbeef-1234-5678",
        "0123456789abcdef0123",
        "ABCDEFGHIJKLabcdefghijkl",
        "ABCDEabcdefghijklmnopqrs",
        "abcdeABCDEFGHIJKLMNOPQRS",
    ] {
        assert!(super::is_random(value), "{value}");
    }
    for value in [
        "aA1aA1aA1aA",
        "aA1aA1",
        "aB1!aB1!aB1!aB1!",
        "deadbeef1234",
        "zzzzzzzzzzzzzz12",
        "deadbeefdeadbeef",
        "1234567890123456",
        "abcdABCDabcdAB",
        "abcdABCDabcdA1",
        "abcdefghij12",
        "aBCDEFGHIJ12",
        "ABCDEFGHIJKabcdefghijkl",
        "ABCDabcdefghijklmnopqrst",
        "abcdABCDEFGHIJKLMNOPQRST",
    ] {
        assert!(!super::is_random(value), "{value}");
    }
}

proptest! {
    #[test]
    fn no_planted_secret_survives(
        place in proptest::sample::select(PLACES),
        secret in "[A-Za-z][A-Za-z0-9]{7,30}",
        before in proptest::sample::select(ORDINARY),
    ) {
        prop_assume!(!place.contains(&secret) && !before.contains(&secret));
        let (out, hidden) = redact(&format!("{before}\n{}", surrounded(place, &secret)));
        prop_assert!(hidden && !out.contains(&secret), "{}", out);
    }

    #[test]
    fn no_planted_secret_with_odd_characters_survives_in_quotes(
        place in proptest::sample::select(&["tool --password='@@' x", "PASSWORD='@@' x", "sshpass -p '@@' ssh h",
            "tool '--password=@@' x", "mysql -p'@@' shop"][..]),
        secret in "[A-Za-z0-9][ A-Za-z0-9!#%&*+,/:;<=>?@^_|~(){}-]{6,30}[A-Za-z0-9]",
    ) {
        let (out, hidden) = redact(&surrounded(place, &secret));
        prop_assert!(hidden && out == surrounded(place, "***"), "{}", out);
    }

    #[test]
    fn hiding_twice_changes_nothing_more(
        parts in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(PLACES).prop_map(|place| surrounded(place, "Hunter2xYz")),
                proptest::sample::select(ORDINARY).prop_map(str::to_owned),
                "[ -~]{0,20}",
            ],
            0..4,
        )
    ) {
        let once = redact(&parts.join(" ")).0;
        prop_assert_eq!(&redact(&once).0, &once);
    }

    #[test]
    fn no_text_makes_it_fail(text in "\\PC{0,200}") {
        let _ = redact(&text);
    }
}
