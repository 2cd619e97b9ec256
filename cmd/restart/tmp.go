package main

import _ "k8s.io/api/batch/v1"
import _ "github.com/restartkit/restart/kube/convert"
